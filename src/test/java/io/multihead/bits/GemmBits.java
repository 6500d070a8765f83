package io.multihead.bits;

import io.multihead.gemm.GemmOptions;
import io.multihead.support.Layout;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;

/** Matrix multiplication with sizes near every block boundary, transposes, factors, bias, batches, element types and packed weights. */
final class GemmBits {
    /** Rows, depth and columns of each product. */
    private static final int[][] SIZES = {
        {1, 17, 33},
        {1, 300, 1030},
        {2, 513, 70},
        {4, 256, 64},
        {5, 33, 130},
        {6, 512, 31},
        {7, 257, 33},
        {13, 300, 1030},
        {97, 64, 40},
        {200, 270, 90},
        {3, 0, 5},
        {0, 4, 5},
        {1, 1, 1}
    };

    private GemmBits() {}

    static void run(Bits bits) {
        for (int i = 0; i < SIZES.length; i++) {
            for (int transposes = 0; transposes < 4; transposes++) {
                GemmOptions options = GemmOptions.DEFAULT
                        .withTransposeA(transposes % 2 == 1)
                        .withTransposeB(transposes / 2 == 1)
                        .withFactors(i % 3 == 1 ? 0.75f : 1, transposes == 3 ? -1.5f : 0)
                        .withBias(i % 2 == 0 ? bits.normal(SIZES[i][2]) : null);
                multiply(bits, "size", SIZES[i], options, i + transposes);
            }
        }
        for (int types = 0; types < 100; types++) {
            int[] size = {types % 3 == 0 ? 1 : types % 3 == 1 ? 4 : 61, 70, 37};
            typed(bits, Bits.dtype(types), Bits.dtype(types / 5), Bits.floating(types / 25), size);
        }
        batches(bits);
    }

    private static void multiply(Bits bits, String name, int[] size, GemmOptions options, int kind) {
        boolean transposedA = options.transposeA();
        Tensor a = bits.normal(
                DType.F32, Bits.layout(kind), transposedA ? size[1] : size[0], transposedA ? size[0] : size[1]);
        boolean transposedB = options.transposeB();
        Tensor b = bits.normal(
                Bits.floating(kind),
                Bits.layout(kind + 2),
                transposedB ? size[2] : size[1],
                transposedB ? size[1] : size[2]);
        Tensor c = bits.normal(DType.F32, Bits.layout(kind + 4), size[0], size[2]);
        Calls.gemm(bits, name + " " + kind, a, b, c, options);
        if (!transposedB) {
            Tensor packed = bits.empty(DType.F32, size[0], size[2]);
            Calls.packedGemm(bits, name + " packed " + kind, a, b, packed, options.withFactors(1, 0));
        }
    }

    private static void typed(Bits bits, DType left, DType right, DType result, int[] size) {
        Tensor a = bits.normal(left, Layout.DENSE, size[0], size[1]);
        Tensor b = bits.normal(right, Layout.DENSE, size[1], size[2]);
        Tensor c = bits.empty(result, size[0], size[2]);
        String name = left + " " + right + " " + result;
        Calls.gemm(bits, name, a, b, c, GemmOptions.DEFAULT);
        Calls.packedGemm(bits, name + " packed", a, b, c, GemmOptions.DEFAULT);
    }

    private static void batches(Bits bits) {
        Tensor a = bits.normal(DType.F32, Layout.TOKENS_FIRST, 2, 3, 5, 20);
        Tensor b = bits.normal(DType.F32, Layout.GAPS, 3, 20, 70);
        Tensor c = bits.empty(DType.F32, Layout.TOKENS_FIRST, 2, 3, 5, 70);
        Calls.gemm(bits, "batches", a, b, c, GemmOptions.DEFAULT);
        Tensor one = bits.normal(1, 3, 50, 20).broadcast(2, 3, 50, 20);
        Tensor shared = bits.normal(20, 70).broadcast(2, 1, 20, 70);
        Calls.gemm(bits, "broadcast", one, shared, bits.empty(DType.F64, 2, 3, 50, 70), GemmOptions.DEFAULT);
        Tensor weights = bits.normal(DType.BF16, Layout.TURNED, 300, 40);
        Tensor rows = bits.normal(DType.F16, Layout.GAPS, 2, 3, 4, 300);
        Calls.packedGemm(bits, "packed", rows, weights, bits.empty(DType.BF16, 2, 3, 4, 40), GemmOptions.DEFAULT);
        Tensor columns = bits.normal(DType.F32, Layout.DENSE, 6, 300, 7);
        GemmOptions transposed = GemmOptions.DEFAULT.withTransposeA(true).withBias(bits.normal(40));
        Calls.packedGemm(bits, "packed, A transposed", columns, weights, bits.empty(DType.F32, 6, 7, 40), transposed);
        Tensor special = bits.normal(5, 40);
        special.set(Double.NaN, 1, 3);
        special.set(Double.POSITIVE_INFINITY, 2, 7);
        special.set(3e38, 4, 1);
        Calls.gemm(bits, "not finite", special, bits.normal(40, 33), bits.empty(DType.F16, 5, 33), GemmOptions.DEFAULT);
    }
}
