package io.multihead.support;

import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** The expected contents of a cache: lists of tokens. Each token is narrowed separately, element by element. */
public final class CacheModel {
    /** One token of one layer: {@code [head][dim]}. */
    public record Token(float[][] key, float[][] value) {}

    /** One sequence: {@code [layer][token]}. The cache has dropped the tokens before {@code first}. */
    public static final class Tokens {
        public final List<List<Token>> layers = new ArrayList<>();
        private long first;

        public Tokens(int count) {
            for (int layer = 0; layer < count; layer++) {
                layers.add(new ArrayList<>());
            }
        }

        /** Returns the first token that is not dropped. */
        public long first() {
            return first;
        }

        public Tokens copy() {
            Tokens other = new Tokens(0);
            layers.forEach(layer -> other.layers.add(new ArrayList<>(layer)));
            other.first = first;
            return other;
        }

        /** Drops the tokens from {@code length} on in layers that have them. */
        public void truncate(long length) {
            layers.forEach(layer -> layer.subList((int) Math.min(length, layer.size()), layer.size())
                    .clear());
        }

        /** Drops the tokens before {@code firstKey}. */
        public void slide(long firstKey) {
            first = firstKey;
        }

        public void append(int layer, List<Token> tokens) {
            layers.get(layer).addAll(tokens);
        }
    }

    private CacheModel() {}

    public static Token random(KeyValueCache.Config config, SplittableRandom random) {
        return new Token(
                rows(config.heads(), config.headDim(), random), rows(config.heads(), config.valueDim(), random));
    }

    private static float[][] rows(int heads, int dim, SplittableRandom random) {
        float[][] rows = new float[heads][dim];
        for (float[] row : rows) {
            for (int d = 0; d < dim; d++) {
                row[d] = (float) random.nextGaussian();
            }
        }
        return rows;
    }

    /** Returns {@code [1, heads, tokens, dim]}, narrowed to the format and widened again. */
    public static Tensor tensor(List<Token> tokens, boolean keys, int heads, int dim, CacheFormat narrowed) {
        float[] values = new float[heads * tokens.size() * dim];
        for (int t = 0; t < tokens.size(); t++) {
            float[][] rows = keys ? tokens.get(t).key() : tokens.get(t).value();
            for (int h = 0; h < heads; h++) {
                boolean inBlocks = keys && narrowed == CacheFormat.I8_BLOCKS;
                float[] row = inBlocks ? narrowBlocks(rows[h]) : narrow(rows[h], narrowed.dtype());
                System.arraycopy(row, 0, values, (h * tokens.size() + t) * dim, dim);
            }
        }
        return Tensor.of(values, 1, heads, tokens.size(), dim);
    }

    /** Narrows a key in blocks of 32 elements, each with a scale. */
    public static float[] narrowBlocks(float[] row) {
        float[] narrowed = new float[row.length];
        for (int from = 0; from < row.length; from += 32) {
            float[] block = narrow(Arrays.copyOfRange(row, from, Math.min(row.length, from + 32)), DType.I8);
            System.arraycopy(block, 0, narrowed, from, block.length);
        }
        return narrowed;
    }

    public static float[] narrow(float[] row, DType dtype) {
        float[] narrowed = row.clone();
        float largest = 0;
        for (float x : row) {
            largest = Math.max(largest, Math.abs(x));
        }
        float scale = largest / 127;
        for (int i = 0; i < row.length; i++) {
            narrowed[i] = switch (dtype) {
                case BF16 -> DType.bf16ToFloat(DType.floatToBf16(row[i]));
                case F16 -> Float.float16ToFloat(Float.floatToFloat16(row[i]));
                case I8 -> scale == 0 ? 0 : (float) Math.rint(row[i] / scale) * scale;
                default -> row[i];
            };
        }
        return narrowed;
    }
}
