package io.multihead.encoder;

import io.multihead.format.Safetensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import io.multihead.text.TextNormalization;
import io.multihead.text.WordPiece;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;

/** Static embeddings of random rows, as folders of sentence-transformers and model2vec and in double. */
final class TinyStatic {
    static final int DIM = TinyModel.DIM;
    static final int ROWS = TinyModel.VOCABULARY.size();

    /** The tokenizer, whose template has {@code [CLS]} and {@code [SEP]}, which static embeddings do not use. */
    static final WordPiece WORDS = WordPiece.ofVocabulary(TinyModel.VOCABULARY, TextNormalization.UNCASED);

    static final String MODULES = """
            [{"idx": 0, "name": "0", "path": "0_StaticEmbedding", "type": "sentence_transformers.models.StaticEmbedding"},
             {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"}]
            """;

    /** The template of model2vec, which adds no tokens around texts. */
    private static final String NO_ENDS =
            "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"special_tokens\":{}}";

    private TinyStatic() {}

    /** Returns rows of positive numbers, so that a missing or wrong row always changes a sum. */
    static Tensor rows(long seed, int rows) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] values = new float[rows * DIM];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) random.nextDouble(0.5, 1.5);
        }
        return Tensor.of(values, rows, DIM);
    }

    static String tokenizer() {
        return new String(WORDS.toTokenizerJson(), StandardCharsets.UTF_8);
    }

    static String tokenizerWithoutEnds() {
        return tokenizer().replaceFirst("\"post_processor\":\\{[^}]*}", NO_ENDS);
    }

    /** Writes a folder with a Normalize module, or without. */
    static void write(Path folder, Tensor rows, boolean normalized) throws IOException {
        Path module = Files.createDirectories(folder.resolve("0_StaticEmbedding"));
        String modules = normalized ? MODULES : MODULES.substring(0, MODULES.indexOf("},")) + "}]";
        Files.writeString(folder.resolve("modules.json"), modules);
        Files.writeString(module.resolve("tokenizer.json"), tokenizer());
        Safetensors.write(
                module.resolve("model.safetensors"), Map.of("embedding.weight", rows), Map.of("format", "pt"));
    }

    /** Returns the rows rounded to a type. */
    static Tensor as(DType dtype, Tensor rows) {
        return rows.copy(Arena.ofAuto(), dtype);
    }

    /** Returns the mean of rows in double, which is zero without rows. */
    static double[] mean(Tensor rows, int[] ids) {
        double[] mean = new double[DIM];
        for (int id : ids) {
            for (int i = 0; i < DIM; i++) {
                mean[i] += rows.get(id, i);
            }
        }
        for (int i = 0; i < DIM; i++) {
            mean[i] /= Math.max(1, ids.length);
        }
        return mean;
    }

    /** Returns the vector divided by its length. A vector of zeros is returned unchanged. */
    static double[] unit(double[] vector) {
        double norm = Math.sqrt(Arrays.stream(vector).map(x -> x * x).sum());
        return Arrays.stream(vector).map(x -> x / Math.max(norm, 1e-12)).toArray();
    }

    /** Returns the ids of a text without the tokens around it. */
    static int[] ids(String text) {
        int[] ids = WORDS.encodeWithSpecialTokens(text);
        return Arrays.copyOfRange(ids, 1, ids.length - 1);
    }

    /** Returns the ids of a text without the tokens around it and without unknown tokens. */
    static int[] known(String text) {
        int unknown = TinyModel.VOCABULARY.indexOf("[UNK]");
        return Arrays.stream(ids(text)).filter(id -> id != unknown).toArray();
    }

    /** A tensor of any type in the form in which a file contains it. */
    record Raw(String dtype, String shape, byte[] bytes) {
        static Raw of(Tensor tensor) {
            ByteBuffer bytes = buffer(Float.BYTES * (int) tensor.shape().elements());
            for (float x : tensor.toArray()) {
                bytes.putFloat(x);
            }
            return new Raw("F32", tensor.shape().toString(), bytes.array());
        }

        static Raw longs(long... values) {
            ByteBuffer bytes = buffer(Long.BYTES * values.length);
            Arrays.stream(values).forEach(bytes::putLong);
            return new Raw("I64", "[" + values.length + "]", bytes.array());
        }

        static Raw ints(int... values) {
            ByteBuffer bytes = buffer(Integer.BYTES * values.length);
            Arrays.stream(values).forEach(bytes::putInt);
            return new Raw("I32", "[" + values.length + "]", bytes.array());
        }

        static Raw doubles(double... values) {
            ByteBuffer bytes = buffer(Double.BYTES * values.length);
            Arrays.stream(values).forEach(bytes::putDouble);
            return new Raw("F64", "[" + values.length + "]", bytes.array());
        }

        private static ByteBuffer buffer(int bytes) {
            return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
        }
    }

    /** Writes a folder of model2vec, with all files in one folder. */
    static void writeModel2Vec(Path folder, Map<String, Raw> tensors) throws IOException {
        Files.writeString(folder.resolve("modules.json"), MODULES.replace("0_StaticEmbedding", "."));
        Files.writeString(folder.resolve("config.json"), "{\"model_type\": \"model2vec\", \"normalize\": true}");
        Files.writeString(folder.resolve("tokenizer.json"), tokenizerWithoutEnds());
        writeRaw(folder.resolve("model.safetensors"), tensors);
    }

    static void writeRaw(Path file, Map<String, Raw> tensors) throws IOException {
        Map<String, String> entries = new LinkedHashMap<>();
        ByteArrayOutputStream data = new ByteArrayOutputStream();
        for (Map.Entry<String, Raw> each : tensors.entrySet()) {
            Raw raw = each.getValue();
            int from = data.size();
            data.write(raw.bytes);
            entries.put(
                    each.getKey(),
                    "\"%s\": {\"dtype\": \"%s\", \"shape\": %s, \"data_offsets\": [%d, %d]}"
                            .formatted(each.getKey(), raw.dtype, raw.shape, from, data.size()));
        }
        byte[] header = ("{" + String.join(", ", entries.values()) + "}").getBytes(StandardCharsets.UTF_8);
        ByteBuffer all = Raw.buffer(Long.BYTES + header.length + data.size());
        Files.write(
                file,
                all.putLong(header.length).put(header).put(data.toByteArray()).array());
    }

    /** Returns a {@code tokenizer.json} whose {@code truncation} has this {@code max_length}. */
    static String truncating(int most) {
        return tokenizer()
                .replace(
                        "\"truncation\":null",
                        "\"truncation\":{\"direction\":\"Right\",\"max_length\":" + most
                                + ",\"strategy\":\"LongestFirst\",\"stride\":0}");
    }
}
