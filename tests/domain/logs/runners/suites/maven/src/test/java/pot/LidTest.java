package pot;

import org.junit.jupiter.api.Test;

class LidTest {
    @Test
    void shuts() {}
}
