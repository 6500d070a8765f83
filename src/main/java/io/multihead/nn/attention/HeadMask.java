package io.multihead.nn.attention;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Factors of heads (Michel et al. 2019, equation 1), on f32 arena {@code [batch, heads, tokens, valueDim]}. */
final class HeadMask {
    private HeadMask() {}

    /** Multiplies every head with its factor. */
    static void apply(Compute cpu, Tensor heads, Tensor mask) {
        for (long b = 0; b < heads.dim(0); b++) {
            for (long h = 0; h < heads.dim(1); h++) {
                float factor = (float) factor(mask, b, h);
                for (long i = 0; i < heads.dim(2); i++) {
                    MemorySegment row = row(heads, b, h, i);
                    for (long d = 0; d < heads.dim(3); d++) {
                        float product = factor * row.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, d);
                        row.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, d, product);
                    }
                }
            }
        }
    }

    /** Writes the gradient of the factors: {@code sum att_h o dAtt_h}, over the batch too when the mask has no batch. */
    static void gradient(Tensor heads, Tensor upstream, Tensor gradient) {
        boolean perBatch = gradient.rank() == 2;
        for (long h = 0; h < heads.dim(1); h++) {
            double all = 0;
            for (long b = 0; b < heads.dim(0); b++) {
                double sum = 0;
                for (long i = 0; i < heads.dim(2); i++) {
                    sum += dot(row(heads, b, h, i), row(upstream, b, h, i), heads.dim(3));
                }
                all += sum;
                if (perBatch) {
                    gradient.set(sum, b, h);
                }
            }
            if (!perBatch) {
                gradient.set(all, h);
            }
        }
    }

    private static double factor(Tensor mask, long b, long h) {
        return mask.rank() == 2 ? mask.get(b, h) : mask.get(h);
    }

    private static double dot(MemorySegment a, MemorySegment b, long length) {
        double sum = 0;
        for (long d = 0; d < length; d++) {
            sum += (double) a.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, d)
                    * b.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, d);
        }
        return sum;
    }

    private static MemorySegment row(Tensor tensor, long b, long h, long i) {
        long at = tensor.offset() + b * tensor.stride(0) + h * tensor.stride(1) + i * tensor.stride(2);
        return tensor.memory().asSlice(at * Float.BYTES, tensor.dim(3) * Float.BYTES);
    }
}
