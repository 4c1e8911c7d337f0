<?php

namespace Kitchen\Tests;

use PHPUnit\Framework\TestCase;

final class PotTest extends TestCase
{
    public function testPours(): void
    {
        $this->assertTrue(true);
    }

    public function testLeaks(): void
    {
        $this->assertSame(1, 2);
    }

    public function testBreaks(): void
    {
        throw new \RuntimeException('broken');
    }

    public function testRests(): void
    {
        $this->markTestSkipped('no water');
    }

    public function testWaits(): void
    {
        $this->markTestIncomplete();
    }

    /** @dataProvider leaves */
    public function testHolds(int $cups): void
    {
        $this->assertGreaterThan(0, $cups);
    }

    public static function leaves(): array
    {
        return ['green' => [1], 'x y' => [2], 'très' => [3], '(hot)' => [0]];
    }
}
