package pot;

import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;

@Disabled
class RestTest {
    @Test
    void waits() {}
}
