package pot;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PotTest {
    @Test
    void pours() {}

    @Test
    void leaks() {
        assertEquals(1, 2);
    }

    @Test
    void breaks() {
        throw new IllegalStateException("broken");
    }

    @Test
    @Disabled("no water")
    void rests() {}

    @ParameterizedTest
    @ValueSource(strings = {"green", "x y", "très"})
    void holds(String leaf) {}

    @Nested
    class Lid {
        @Test
        void fits() {}
    }
}
