package io.multihead.attention;

import static io.multihead.internal.kernel.Lanes.DEPTH;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.Panels;
import io.multihead.internal.kernel.Scratch;
import io.multihead.tensor.Tensor;

/**
 * Up to 256 keys and values of one head in panels: keys as {@code [chunk of headDim][panel of keys][d][32 keys]}, values as
 * {@code [panel of valueDim][key][32]}. Belongs to one thread.
 *
 * <p>A value that is not finite would spoil, as {@code 0 * NaN}, the rows that do not see its key. Such elements are taken
 * out of the panels and kept aside; {@link #addStrays} gives them to exactly the rows that see them.
 */
final class KeyBlock {
    private static final long NOTHING = -1;

    private long keysOf = NOTHING;
    private long valuesOf = NOTHING;
    private int keyCount;
    private int valueCount;
    private float[] keyPanels = new float[0];
    private float[] valuePanels = new float[0];
    private float[] strayValues = new float[0];
    private final int[] strayKeys = new int[DEPTH];
    private int strayCount;

    float[] keyPanels() {
        return keyPanels;
    }

    float[] valuePanels() {
        return valuePanels;
    }

    /** How many values are packed: the distance from panel to panel. */
    int valueCount() {
        return valueCount;
    }

    /** Packs {@code count} keys from {@code firstKey} on, unless they still are. */
    void packKeys(AttentionCall call, Packer packer, float[] rows, long group, long firstKey, int count) {
        if (keysOf == call.tag(group) && keyCount >= count) {
            return;
        }
        Tensor key = call.key();
        keyPanels = Scratch.atLeast(keyPanels, Panels.size(DEPTH, Math.max(1, call.headDim)));
        long at = call.start(key, group) + firstKey * key.stride(2);
        for (int d = 0; d < call.headDim; d += DEPTH) {
            int depth = Math.min(DEPTH, call.headDim - d);
            packer.read(key, at + d * key.stride(3), key.stride(2), key.stride(3), count, depth, rows, 0, ROW);
            Panels.fromColumns(rows, depth, count, keyPanels, d * DEPTH);
        }
        keysOf = call.tag(group);
        keyCount = count;
    }

    /** Packs {@code count} values from {@code firstKey} on, unless they still are. */
    void packValues(AttentionCall call, Packer packer, float[] rows, long group, long firstKey, int count) {
        if (valuesOf == call.tag(group) && valueCount >= count) {
            return;
        }
        Tensor value = call.value();
        valuePanels = Scratch.atLeast(valuePanels, Panels.size(Math.max(1, call.valueDim), DEPTH));
        long at = call.start(value, group) + firstKey * value.stride(2);
        boolean finite = true;
        for (int d = 0; d < call.valueDim; d += DEPTH) {
            int wide = Math.min(DEPTH, call.valueDim - d);
            packer.read(value, at + d * value.stride(3), value.stride(2), value.stride(3), count, wide, rows, 0, ROW);
            finite &= Panels.fromRows(rows, count, wide, valuePanels, d * count);
        }
        strayCount = 0;
        if (!finite) {
            takeStrays(count, call.valueDim);
        }
        valuesOf = call.tag(group);
        valueCount = count;
    }

    /** Forgets what is packed, before the block is used for other keys of the same group. */
    void clear() {
        keysOf = NOTHING;
        valuesOf = NOTHING;
    }

    private void takeStrays(int count, int valueDim) {
        int wide = Lanes.roundUp(valueDim, PANEL);
        strayValues = Scratch.atLeast(strayValues, DEPTH * wide);
        for (int k = 0; k < count; k++) {
            boolean stray = false;
            for (int d = 0; d < wide; d++) {
                int at = (d / PANEL * count + k) * PANEL + d % PANEL;
                float v = valuePanels[at];
                strayValues[strayCount * wide + d] = Float.isFinite(v) ? 0f : v;
                if (!Float.isFinite(v)) {
                    valuePanels[at] = 0f;
                    stray = true;
                }
            }
            if (stray) {
                strayKeys[strayCount++] = k;
            }
        }
    }

    /** Adds the values kept aside to an output row, for every such key whose score is not minus infinity. */
    void addStrays(float[] scores, int s0, int visible, float[] output, int o0, int wide) {
        for (int i = 0; i < strayCount; i++) {
            if (strayKeys[i] < visible && scores[s0 + strayKeys[i]] != Float.NEGATIVE_INFINITY) {
                for (int d = 0; d < wide; d++) {
                    output[o0 + d] += strayValues[i * wide + d];
                }
            }
        }
    }

    boolean hasStrays() {
        return strayCount > 0;
    }
}
