package io.multihead.it.golden;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession;
import io.multihead.text.GoldenTexts;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Writes MiniLM's embeddings, as ONNX Runtime computes them. Each text is computed alone, with at most 512 tokens. */
final class WriteEmbeddings {
    private static final int MOST_TOKENS = 512;
    private static final String[] NAMES = {"mean", "cls", "max"};

    private WriteEmbeddings() {}

    static void write(Path tokenizer, Path model, String paragraph, Path file, String command) throws Exception {
        List<float[]> vectors = new ArrayList<>();
        List<String> texts = GoldenTexts.sentences(paragraph);
        try (HuggingFaceTokenizer tokens = HuggingFaceTokenizer.builder()
                        .optTokenizerPath(tokenizer)
                        .optPadding(false)
                        .optTruncation(false)
                        .build();
                OrtSession session = OrtEnvironment.getEnvironment().createSession(model.toString())) {
            for (String text : texts) {
                float[][] states = states(session, truncated(tokens.encode(text).getIds()));
                vectors.addAll(List.of(mean(states), normalized(doubles(states[0])), normalized(max(states))));
            }
        }
        StringBuilder header = new StringBuilder(
                        "{\"__metadata__\":{\"oracle\":\"onnxruntime 1.29.0, all-minilm-l6-v2.onnx\",\"command\":\"")
                .append(command)
                .append("\"}");
        int bytes = texts.size() * vectors.get(0).length * Float.BYTES;
        for (int i = 0; i < NAMES.length; i++) {
            header.append(String.format(
                    ",\"%s\":{\"dtype\":\"F32\",\"shape\":[%d,%d],\"data_offsets\":[%d,%d]}",
                    NAMES[i], texts.size(), vectors.get(0).length, i * bytes, (i + 1) * bytes));
        }
        header.append("}");
        while (header.length() % 8 != 0) {
            header.append(' ');
        }
        ByteBuffer out =
                ByteBuffer.allocate(8 + header.length() + NAMES.length * bytes).order(ByteOrder.LITTLE_ENDIAN);
        out.putLong(header.length()).put(header.toString().getBytes(StandardCharsets.UTF_8));
        for (int i = 0; i < NAMES.length; i++) {
            for (int text = 0; text < texts.size(); text++) {
                for (float x : vectors.get(text * NAMES.length + i)) {
                    out.putFloat(x);
                }
            }
        }
        try (OutputStream stream = Files.newOutputStream(file)) {
            stream.write(out.array());
        }
    }

    private static long[] truncated(long[] ids) {
        if (ids.length > MOST_TOKENS) {
            long last = ids[ids.length - 1];
            ids = Arrays.copyOf(ids, MOST_TOKENS);
            ids[MOST_TOKENS - 1] = last;
        }
        return ids;
    }

    private static float[][] states(OrtSession session, long[] ids) throws Exception {
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        long[] ones = new long[ids.length];
        Arrays.fill(ones, 1);
        try (OnnxTensor input = OnnxTensor.createTensor(environment, new long[][] {ids});
                OnnxTensor mask = OnnxTensor.createTensor(environment, new long[][] {ones});
                OnnxTensor types = OnnxTensor.createTensor(environment, new long[][] {new long[ids.length]});
                OrtSession.Result result =
                        session.run(Map.of("input_ids", input, "attention_mask", mask, "token_type_ids", types))) {
            return ((float[][][]) result.get(0).getValue())[0];
        }
    }

    private static float[] mean(float[][] states) {
        double[] sum = new double[states[0].length];
        for (float[] state : states) {
            for (int i = 0; i < sum.length; i++) {
                sum[i] += state[i];
            }
        }
        return normalized(sum);
    }

    private static double[] max(float[][] states) {
        double[] most = doubles(states[0]);
        for (float[] state : states) {
            for (int i = 0; i < most.length; i++) {
                most[i] = Math.max(most[i], state[i]);
            }
        }
        return most;
    }

    private static double[] doubles(float[] values) {
        double[] result = new double[values.length];
        for (int i = 0; i < result.length; i++) {
            result[i] = values[i];
        }
        return result;
    }

    private static float[] normalized(double[] values) {
        double norm = Math.sqrt(Arrays.stream(values).map(x -> x * x).sum());
        float[] result = new float[values.length];
        for (int i = 0; i < result.length; i++) {
            result[i] = (float) (values[i] / norm);
        }
        return result;
    }
}
