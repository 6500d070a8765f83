package io.multihead.nn.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.nn.TensorMath;
import io.multihead.tensor.Tensor;

/** Factors of heads (Michel et al. 2019, equation 1), on f32 temporaries {@code [batch, heads, tokens, valueDim]}. */
final class HeadMask {
    private HeadMask() {}

    /** Multiplies every head with its factor. */
    static void apply(Compute cpu, Tensor heads, Tensor mask) {
        long count = heads.dim(1);
        long tokens = heads.dim(2);
        boolean perBatch = mask.rank() == 2;
        TensorMath.scaleRows(cpu, heads, row -> {
            long head = row / tokens % count;
            return perBatch ? mask.get(row / tokens / count, head) : mask.get(head);
        });
    }

    /** Writes the gradient of the factors: {@code sum att_h o dAtt_h}, over the batch too when the mask has no batch. */
    static void gradient(Compute cpu, Tensor heads, Tensor upstream, Tensor gradient) {
        long batch = heads.dim(0);
        long count = heads.dim(1);
        double[] sums = new double[(int) (batch * count)];
        TensorMath.groupDots(cpu, heads, upstream, sums.length, (head, sum) -> sums[(int) head] = sum);
        for (int h = 0; h < count; h++) {
            double all = 0;
            for (int b = 0; b < batch; b++) {
                double sum = sums[(int) (b * count) + h];
                all += sum;
                if (gradient.rank() == 2) {
                    gradient.set(sum, b, h);
                }
            }
            if (gradient.rank() == 1) {
                gradient.set(all, h);
            }
        }
    }
}
