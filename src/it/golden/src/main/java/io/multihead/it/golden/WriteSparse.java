package io.multihead.it.golden;

import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession;
import io.multihead.encoder.GoldenMasked;
import io.multihead.text.GoldenTexts;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Writes the sparse vectors of texts by MiniLM with a head of random weights, as ONNX Runtime computes them. */
final class WriteSparse {
    private WriteSparse() {}

    static void write(Path tokenizer, Path model, String paragraph, Path file, String command) throws Exception {
        List<String> texts = GoldenTexts.sentences(paragraph);
        List<Float> words = new ArrayList<>();
        List<Float> weights = new ArrayList<>();
        List<Float> counts = new ArrayList<>();
        ByteArrayOutputStream graph = new ByteArrayOutputStream();
        graph.writeBytes(Files.readAllBytes(model));
        graph.writeBytes(GoldenMasked.graph());
        try (HuggingFaceTokenizer tokens = HuggingFaceTokenizer.builder()
                        .optTokenizerPath(tokenizer)
                        .optPadding(false)
                        .optTruncation(true)
                        .optMaxLength(512)
                        .build();
                OrtSession session = OrtEnvironment.getEnvironment().createSession(graph.toByteArray())) {
            for (int text : GoldenMasked.TEXTS) {
                float[] all = weights(session, tokens.encode(texts.get(text)));
                int count = 0;
                for (int word = 0; word < all.length; word++) {
                    if (all[word] > 0) {
                        words.add((float) word);
                        weights.add(all[word]);
                        count++;
                    }
                }
                counts.add((float) count);
            }
        }
        String header = header(words.size(), counts.size(), command);
        ByteBuffer out = ByteBuffer.allocate(8 + header.length() + 4 * (2 * words.size() + counts.size()))
                .order(ByteOrder.LITTLE_ENDIAN);
        out.putLong(header.length()).put(header.getBytes(StandardCharsets.UTF_8));
        words.forEach(out::putFloat);
        weights.forEach(out::putFloat);
        counts.forEach(out::putFloat);
        Files.write(file, out.array());
    }

    private static String header(int all, int texts, String command) {
        String header =
                "{\"__metadata__\":{\"oracle\":\"onnxruntime 1.29.0, all-minilm-l6-v2.onnx and a head; tokenizers 0.38.0\","
                        + "\"command\":\"" + command + "\"}";
        String tensor = ",\"%s\":{\"dtype\":\"F32\",\"shape\":[%d],\"data_offsets\":[%d,%d]}";
        header += String.format(tensor, "words", all, 0, 4 * all)
                + String.format(tensor, "weights", all, 4 * all, 8 * all)
                + String.format(tensor, "counts", texts, 8 * all, 8 * all + 4 * texts) + "}";
        return header + " ".repeat((8 - header.length() % 8) % 8);
    }

    private static float[] weights(OrtSession session, Encoding text) throws Exception {
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try (OnnxTensor ids = OnnxTensor.createTensor(environment, new long[][] {text.getIds()});
                OnnxTensor mask = OnnxTensor.createTensor(environment, new long[][] {text.getAttentionMask()});
                OnnxTensor types = OnnxTensor.createTensor(environment, new long[][] {text.getTypeIds()});
                OrtSession.Result result =
                        session.run(Map.of("input_ids", ids, "attention_mask", mask, "token_type_ids", types))) {
            return ((float[][]) result.get("weights").orElseThrow().getValue())[0];
        }
    }
}
