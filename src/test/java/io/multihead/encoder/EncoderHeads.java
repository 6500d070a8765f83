package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.model.Block;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
import io.multihead.model.Transformer;
import java.util.ArrayList;
import java.util.List;

/** The class of docs/reference/heads.md. */
final class EncoderHeads {
    private EncoderHeads() {}

    /** Returns the mean of a text's states, computed with some heads of each layer. A vector of MiniLM is this mean, with length 1. */
    static double[] mean(Compute cpu, SentenceEncoder encoder, boolean[][] kept, String text) {
        Transformer whole = encoder.transformer();
        List<Block> blocks = new ArrayList<>();
        for (int layer = 0; layer < kept.length; layer++) {
            Block block = whole.blocks().get(layer);
            float[] factors = new float[kept[layer].length];
            for (int head = 0; head < factors.length; head++) {
                factors[head] = kept[layer][head] ? 1 : 0;
            }
            blocks.add(block.withAttention(block.attention().withHeadFactors(factors)));
        }
        int[] ids = encoder.tokenizer().encodeWithSpecialTokens(text, encoder.maxTokens());
        TokenBatch batch = TokenBatch.of(ids.length);
        batch.begin();
        for (int id : ids) {
            batch.add(id);
        }
        Buffers buffers = whole.buffers(ids.length);
        whole.withBlocks(blocks).forward(cpu, batch, buffers);
        double[] mean = new double[whole.dim()];
        for (int i = 0; i < mean.length; i++) {
            for (int token = 0; token < ids.length; token++) {
                mean[i] += buffers.states().get(token, i) / ids.length;
            }
        }
        return mean;
    }
}
