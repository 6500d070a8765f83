package consumer;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/** Computes attention of two tokens. The first token sees only itself. */
public class Consumer {
    public static void main(String[] args) {
        float[] out = new float[2];
        Tensor query = Tensor.of(new float[] {0, 0}, 1, 1, 2, 1);
        Tensor value = Tensor.of(new float[] {0.5f, 1.5f}, 1, 1, 2, 1);
        try (Compute cpu = Compute.threads(2)) {
            Attention.forward(cpu, query, query, value, Tensor.of(out, 1, 1, 2, 1), AttentionOptions.CAUSAL);
        }
        System.out.println(Arrays.toString(out));
    }
}
