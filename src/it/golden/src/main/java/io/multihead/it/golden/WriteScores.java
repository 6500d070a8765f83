package io.multihead.it.golden;

import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession;
import io.multihead.encoder.GoldenHead;
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

/** Writes outputs of MiniLM with a head of random weights for pairs of texts, as the HuggingFace crate encodes and ONNX Runtime computes them. */
final class WriteScores {
    private WriteScores() {}

    static void write(Path tokenizer, Path model, String paragraph, Path file, String command) throws Exception {
        List<String> texts = GoldenTexts.sentences(paragraph);
        List<Float> outputs = new ArrayList<>();
        List<Float> lengths = new ArrayList<>();
        ByteArrayOutputStream graph = new ByteArrayOutputStream();
        graph.writeBytes(Files.readAllBytes(model));
        graph.writeBytes(GoldenHead.graph());
        try (HuggingFaceTokenizer tokens = HuggingFaceTokenizer.builder()
                        .optTokenizerPath(tokenizer)
                        .optPadding(false)
                        .optTruncation(true)
                        .optMaxLength(GoldenHead.MOST_TOKENS)
                        .build();
                OrtSession session = OrtEnvironment.getEnvironment().createSession(graph.toByteArray())) {
            for (int query : GoldenHead.QUERIES) {
                for (int passage : GoldenHead.passages(query)) {
                    Encoding pair = tokens.encode(texts.get(query), texts.get(passage));
                    outputs.add(output(session, pair));
                    lengths.add((float) pair.getIds().length);
                }
            }
        }
        String header = header(outputs.size(), command);
        ByteBuffer out =
                ByteBuffer.allocate(8 + header.length() + 8 * outputs.size()).order(ByteOrder.LITTLE_ENDIAN);
        out.putLong(header.length()).put(header.getBytes(StandardCharsets.UTF_8));
        outputs.forEach(out::putFloat);
        lengths.forEach(out::putFloat);
        Files.write(file, out.array());
    }

    private static String header(int pairs, String command) {
        String header =
                "{\"__metadata__\":{\"oracle\":\"onnxruntime 1.29.0, all-minilm-l6-v2.onnx and a head; tokenizers 0.38.0\","
                        + "\"command\":\"" + command + "\"}";
        String tensor = ",\"%s\":{\"dtype\":\"F32\",\"shape\":[%d],\"data_offsets\":[%d,%d]}";
        header += String.format(tensor, "outputs", pairs, 0, 4 * pairs)
                + String.format(tensor, "lengths", pairs, 4 * pairs, 8 * pairs) + "}";
        return header + " ".repeat((8 - header.length() % 8) % 8);
    }

    private static float output(OrtSession session, Encoding pair) throws Exception {
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try (OnnxTensor ids = OnnxTensor.createTensor(environment, new long[][] {pair.getIds()});
                OnnxTensor mask = OnnxTensor.createTensor(environment, new long[][] {pair.getAttentionMask()});
                OnnxTensor types = OnnxTensor.createTensor(environment, new long[][] {pair.getTypeIds()});
                OrtSession.Result result =
                        session.run(Map.of("input_ids", ids, "attention_mask", mask, "token_type_ids", types))) {
            return ((float[][]) result.get("logits").orElseThrow().getValue())[0][0];
        }
    }
}
