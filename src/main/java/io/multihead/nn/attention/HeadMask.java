package io.multihead.nn.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.nn.TensorMath;
import io.multihead.tensor.Tensor;

/** Factors of heads (Michel et al. 2019, equation 1), on f32 temporaries {@code [batch, heads, tokens, valueDim]}. */
final class HeadMask {
    private HeadMask() {}

    /** Multiplies every head by its factor. */
    static void apply(Compute cpu, Tensor heads, Tensor mask) {
        long count = heads.dim(1);
        long tokens = heads.dim(2);
        boolean perBatch = mask.rank() == 2;
        TensorMath.scaleRows(cpu, heads, row -> {
            long head = row / tokens % count;
            return perBatch ? mask.get(row / tokens / count, head) : mask.get(head);
        });
    }

    /** Returns the number of sums of the gradient: one per head of each example, none without tokens. Fails if no array can hold them. */
    static int sums(Tensor heads) {
        // without elements the tensor takes no memory, and its batch may be of any size
        return heads.shape().elements() == 0 ? 0 : Checks.product("headMask gradient", heads.dim(0), heads.dim(1));
    }

    /** Writes the gradient of the factors: {@code sum att_h o dAtt_h}, also over the batch if the mask has no batch. */
    static void gradient(Compute cpu, Tensor heads, Tensor upstream, Tensor gradient) {
        double[] sums = new double[sums(heads)];
        if (sums.length == 0) {
            gradient.fill(0);
            return;
        }
        TensorMath.groupDots(cpu, heads, upstream, sums.length, (head, sum) -> sums[(int) head] = sum);
        int count = (int) heads.dim(1);
        int batch = sums.length / count;
        for (int h = 0; h < count; h++) {
            double all = 0;
            for (int b = 0; b < batch; b++) {
                double sum = sums[b * count + h];
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
