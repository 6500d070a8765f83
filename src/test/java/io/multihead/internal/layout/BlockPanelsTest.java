package io.multihead.internal.layout;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.internal.kernel.Lanes;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class BlockPanelsTest {
    /**
     * {@link PanelFormat} repeats the sizes of its layouts as constants, since the classes of layouts are loaded later.
     */
    @Test
    void formatsHaveTheSizesOfTheirLayouts() {
        List<PanelFormat> formats = Arrays.stream(PanelFormat.values())
                .filter(PanelFormat::isQuantized)
                .toList();
        assertEquals(13, formats.size());
        for (PanelFormat format : formats) {
            BlockPanels layout = format.blocks();
            assertEquals(layout.bytes(), format.bytes(layout.rows(), 1), format.toString());
            assertEquals(layout.rows(), format.rows(1), format.toString());
        }
        assertEquals(32, Lanes.PANEL);
    }
}
