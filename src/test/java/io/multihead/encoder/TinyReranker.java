package io.multihead.encoder;

import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** {@link TinyModel} with a head of random weights, as a folder of transformers and in double. */
public final class TinyReranker {
    private static final double U = 0x1p-24;

    private final Map<String, Tensor> weights;
    private final int labels;

    public TinyReranker(long seed, int labels) {
        this.labels = labels;
        weights = new LinkedHashMap<>(TinyModel.weights(seed));
        // the first token attends to all tokens, so that a wrong token changes its state by more than the rounding
        // bound
        weights.replaceAll((name, weight) -> name.endsWith("query.weight") ? times(0.1f, weight) : weight);
        weights.replaceAll((name, weight) -> name.endsWith("value.weight") ? times(6, weight) : weight);
        SplittableRandom random = new SplittableRandom(seed + 1000);
        TinyModel.put(weights, random, "pooler.dense.weight", TinyModel.DIM, TinyModel.DIM);
        TinyModel.put(weights, random, "pooler.dense.bias", TinyModel.DIM);
        TinyModel.put(weights, random, "classifier.weight", labels, TinyModel.DIM);
        TinyModel.put(weights, random, "classifier.bias", labels);
    }

    private static Tensor times(float factor, Tensor weight) {
        float[] values = weight.toArray();
        for (int i = 0; i < values.length; i++) {
            values[i] *= factor;
        }
        return Tensor.of(values, weight.shape().toArray());
    }

    /** Returns the weights by name, without the prefix of the encoder. */
    Map<String, Tensor> weights() {
        return weights;
    }

    /** Returns the weights with the names of transformers. */
    Map<String, Tensor> named() {
        Map<String, Tensor> named = new LinkedHashMap<>();
        weights.forEach((name, weight) -> named.put(name.startsWith("classifier") ? name : "bert." + name, weight));
        return named;
    }

    /** Returns {@code config.json} with further members, each followed by a comma. */
    String config(String more) {
        String names = IntStream.range(0, labels)
                .mapToObj(label -> "\"" + label + "\": \"LABEL_" + label + "\"")
                .collect(Collectors.joining(", "));
        String head =
                "{" + more + "\"architectures\": [\"BertForSequenceClassification\"], \"id2label\": {" + names + "},";
        return head + TinyModel.CONFIG.strip().substring(1);
    }

    /** Writes the folder. */
    public Path write(Path folder) throws IOException {
        Files.createDirectories(folder);
        Files.writeString(folder.resolve("config.json"), config(""));
        Files.writeString(folder.resolve("vocab.txt"), String.join("\n", TinyModel.VOCABULARY));
        Safetensors.write(folder.resolve("model.safetensors"), named(), Map.of("format", "pt"));
        return folder;
    }

    /** Outputs of the head, and the bounds of their errors in f32. */
    @SuppressWarnings("ArrayRecordComponent")
    record Outputs(double[] exact, double[] bounds) {}

    /**
     * Computes the outputs for a sequence. A state in f32 has an error of at most E, which is {@link SentenceEncoderTest#TOLERANCE} for
     * elements of about 1, and larger in proportion for larger elements. A row of the first layer has an error of sum |w| E, and n + 1
     * roundings of sum |w x|. tanh does not increase an error, and the last layer is in double.
     */
    Outputs outputs(int[] ids, int[] types) {
        double[] state = new ReferenceEncoder(weights).states(ids, types)[0];
        double largest = 1;
        for (double x : state) {
            largest = Math.max(largest, Math.abs(x));
        }
        double error = SentenceEncoderTest.TOLERANCE * largest;
        int dim = state.length;
        double[] pooled = new double[dim];
        double[] pooledErrors = new double[dim];
        for (int i = 0; i < dim; i++) {
            double sum = value("pooler.dense.bias", i);
            double sizes = Math.abs(sum);
            for (int j = 0; j < dim; j++) {
                double weight = value("pooler.dense.weight", i * dim + j);
                sum += weight * state[j];
                sizes += Math.abs(weight * state[j]);
                pooledErrors[i] += Math.abs(weight) * error;
            }
            pooled[i] = Math.tanh(sum);
            pooledErrors[i] += (dim + 1) * U * sizes;
        }
        double[] exact = new double[labels];
        double[] bounds = new double[labels];
        for (int label = 0; label < labels; label++) {
            exact[label] = value("classifier.bias", label);
            for (int i = 0; i < dim; i++) {
                exact[label] += value("classifier.weight", label * dim + i) * pooled[i];
                bounds[label] += Math.abs(value("classifier.weight", label * dim + i)) * pooledErrors[i];
            }
        }
        return new Outputs(exact, bounds);
    }

    private double value(String name, int at) {
        return weights.get(name).toArray()[at];
    }

    /** A pair as ids and token types. */
    @SuppressWarnings("ArrayRecordComponent")
    record Pair(int[] ids, int[] types) {
        /**
         * Truncates the longer text token by token. If both have the same length, the text that was the shorter one is truncated, or the
         * query.
         */
        static Pair of(int[] query, int[] passage, int maxTokens) {
            return of(query, passage, maxTokens, 2, 3);
        }

        /** Truncates the texts, with other tokens around the texts. */
        static Pair of(int[] query, int[] passage, int maxTokens, int begin, int end) {
            int first = query.length;
            int second = passage.length;
            while (first + second + 3 > maxTokens && first + second > 0) {
                if (first > second || first == second && query.length <= passage.length) {
                    first--;
                } else {
                    second--;
                }
            }
            int[] ids = new int[first + second + 3];
            int[] types = new int[ids.length];
            ids[0] = begin;
            System.arraycopy(query, 0, ids, 1, first);
            ids[first + 1] = end;
            System.arraycopy(passage, 0, ids, first + 2, second);
            ids[ids.length - 1] = end;
            for (int token = first + 2; token < ids.length; token++) {
                types[token] = 1;
            }
            return new Pair(ids, types);
        }
    }

    /** Returns texts of words of one to eight letters, each of which is a token. */
    static List<String> texts(SplittableRandom random, int count, int mostWords) {
        return IntStream.range(0, count)
                .mapToObj(text -> IntStream.range(0, random.nextInt(mostWords + 1))
                        .mapToObj(word -> IntStream.range(0, 1 + random.nextInt(8))
                                .mapToObj(letter -> String.valueOf((char) ('a' + random.nextInt(26))))
                                .collect(Collectors.joining()))
                        .collect(Collectors.joining(" ")))
                .toList();
    }
}
