package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.util.Arrays;
import java.util.List;

/**
 * The attention weights of all heads of an encoder for one text.
 *
 * @param tokens the tokens as in the vocabulary, including {@code [CLS]} and {@code [SEP]}
 * @param weights {@code [layers, heads, tokens, tokens]} of f32 on the Java heap: the weight with which each token (the third axis) attends to
 *     each token (the last axis). The sum of a row is 1 except for rounding. {@code io.multihead.analysis.HeadStatistics} reads one layer,
 *     {@code weights.select(0, layer)}
 */
public record TextAttention(List<String> tokens, Tensor weights) {
    /**
     * Checks that there is a row and a column for each token.
     *
     * @throws IllegalArgumentException if the shape of the weights does not fit
     */
    public TextAttention {
        tokens = Checks.noNulls(tokens, "tokens");
        Checks.notNull(weights, "weights");
        if (weights.rank() != 4 || weights.dim(2) != tokens.size() || weights.dim(3) != tokens.size()) {
            throw Checks.fail(
                    "weights",
                    "shape " + weights.shape(),
                    "expected [layers, heads, " + tokens.size() + ", " + tokens.size() + "] for as many tokens");
        }
    }

    /** Runs the model on one sequence. */
    static TextAttention of(EncoderCore core, EncoderOptions options, String text) {
        EncoderTokenizer tokenizer = core.tokenizer;
        int[] ids = tokenizer.encodeWithSpecialTokens(options.prompt() + text);
        if (ids.length > options.maxTokens()) {
            if (options.longTexts() != LongTexts.TRUNCATE) {
                throw Checks.fail(
                        "text",
                        ids.length + " tokens",
                        "expected at most " + options.maxTokens() + ", or an encoder that truncates");
            }
            ids = tokenizer.encodeWithSpecialTokens(options.prompt() + text, options.maxTokens());
        }
        int n = ids.length;
        EncoderConfig config = core.model.config;
        long elements = Math.multiplyExact((long) config.layers() * config.heads(), (long) n * n);
        Tensor weights =
                Tensor.of(new float[Checks.fitsInt(elements, "weights")], config.layers(), config.heads(), n, n);
        TokenBatch batch = TokenBatch.of(n);
        batch.begin();
        for (int id : ids) {
            batch.add(id);
        }
        Buffers buffers = core.take(n);
        try {
            core.model.transformer.forward(core.cpu, batch, buffers, weights);
        } catch (RuntimeException failed) {
            throw core.orClosed(failed);
        } finally {
            core.giveBack(buffers);
        }
        return new TextAttention(Arrays.stream(ids).mapToObj(tokenizer::token).toList(), weights);
    }
}
