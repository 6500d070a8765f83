package io.multihead.gemm;

import io.multihead.internal.base.Checks;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;

/**
 * The formats in which {@link PackedWeights} store elements. One row of a product reads every weight once, so its time is the time to read
 * the bytes of the weights. Weights in bf16 have half as many bytes as in f32.
 */
public enum WeightFormat {
    /** 4 bytes: every element unchanged, f64 rounded. */
    F32(0),
    /** 2 bytes. Products have the same bits as products with the widened elements. */
    BF16(1),
    /** 2 bytes, only finite elements. Products have the same bits as products with the widened
     * elements. */
    F16(2),
    /** Blocks of ggml: int8 with an f16 scale for each 32 inputs; 34 bytes for 32 elements. */
    Q8_0(3),
    /** Blocks of ggml: 4 bits with an f16 scale for each 32 inputs; 18 bytes for 32 elements. */
    Q4_0(4),
    /** Blocks of ggml: 4 bits with an f16 scale and an f16 minimum for each 32 inputs; 20 bytes for 32 elements. */
    Q4_1(8),
    /** Blocks of ggml: 5 bits with an f16 scale for each 32 inputs; 22 bytes for 32 elements. */
    Q5_0(9),
    /** Blocks of ggml: 5 bits with an f16 scale and an f16 minimum for each 32 inputs; 24 bytes for 32 elements. */
    Q5_1(10),
    /** Blocks of ggml: 4 bits with scales and minima for each 32 of 256 inputs; 148 bytes for 256 elements. */
    Q4_K(5),
    /** Blocks of ggml: 5 bits with scales and minima for each 32 of 256 inputs; 180 bytes for 256 elements. */
    Q5_K(6),
    /** Blocks of ggml: 6 bits with scales for each 16 of 256 inputs; 210 bytes for 256 elements. */
    Q6_K(7),
    /** Blocks of ggml: 3 bits with scales for each 16 of 256 inputs; 210 bytes for 256 elements, 110 in files. */
    Q3_K(14),
    /** Blocks of ggml: 2 bits with scales and minima for each 16 of 256 inputs; 100 bytes for 256 elements, 84 in files. */
    Q2_K(15),
    /** Blocks of OCP in ggml's form: E2M1 with a power of two for each 32 inputs; 18 bytes for 32 elements, 17 in files. */
    MXFP4(11),
    /** Blocks of ggml: codes of 4 bits for 16 numbers, with an f16 scale for each 32 inputs; 18 bytes for 32 elements. */
    IQ4_NL(12),
    /** Blocks of ggml: the codes of {@link #IQ4_NL}, with scales for each 32 of 256 inputs; 138 bytes for 256 elements. */
    IQ4_XS(13);

    final PanelFormat panels;
    /** The element type of a tensor of panels. */
    final DType dtype;
    /** The number that files hold. */
    final int code;

    WeightFormat(int code) {
        panels = PanelFormat.valueOf(name());
        dtype = panels.isQuantized() ? DType.I8 : DType.valueOf(name());
        this.code = code;
    }

    static WeightFormat of(PanelFormat panels) {
        for (WeightFormat format : values()) {
            if (format.panels == panels) {
                return format;
            }
        }
        throw new IllegalStateException("format: " + panels + "; expected one of weights");
    }

    /**
     * Returns the format that holds blocks of a type without loss.
     *
     * @param type the type of the blocks
     * @return the format of the same name
     */
    public static WeightFormat of(BlockType type) {
        return valueOf(Checks.notNull(type, "type").name());
    }

    /**
     * {@return whether products may round their inputs to 8 bits ({@link PackedWeights#withEightBitInputs}); true for Q4_0, Q4_1 and Q4_K}.
     * Only formats of 4 bits allow it, since products with the other formats reach the speed of memory without rounding.
     */
    public boolean allowsEightBitInputs() {
        return this == Q4_0 || this == Q4_1 || this == Q4_K;
    }

    /**
     * {@return the number of consecutive inputs that share scales, which {@link PackedWeights#selectInputs} keeps together; 32 or 256, or 1
     * for a format without blocks}
     */
    public int blockInputs() {
        return panels.blockRows();
    }

    /**
     * Returns whether inputs form whole blocks. The blocks may be in any order; the inputs of a
     * block must be in ascending order.
     *
     * @param inputs numbers of inputs
     * @return true for any inputs, if the format has no blocks
     */
    public boolean areWholeBlocks(int... inputs) {
        int block = blockInputs();
        boolean whole = Checks.notNull(inputs, "inputs").length % block == 0;
        for (int i = 0; whole && i < inputs.length; i++) {
            whole = inputs[i] % block == i % block && inputs[i] - i % block == inputs[i - i % block];
        }
        return whole;
    }

    static WeightFormat ofCode(int code) {
        for (WeightFormat format : values()) {
            if (format.code == code) {
                return format;
            }
        }
        throw Checks.fail("format", String.valueOf(code), "expected 0 to " + (values().length - 1));
    }
}
