package io.multihead.it.golden;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import io.multihead.encoder.GoldenEncoder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes token vectors of encoders with random weights, and logits of encoders with a head, as ONNX Runtime computes
 * their graphs.
 */
final class WriteVectors {
    private WriteVectors() {}

    static void write(GoldenEncoder encoder, Path file, String command) throws IOException, OrtException {
        List<float[]> vectors = new ArrayList<>();
        List<float[]> logits = new ArrayList<>();
        try (OrtSession session = OrtEnvironment.getEnvironment().createSession(encoder.model())) {
            for (long[] ids : GoldenEncoder.texts()) {
                try (OrtSession.Result result = run(session, encoder, ids)) {
                    float[][] states = ((float[][][]) result.get("last_hidden_state")
                                    .orElseThrow()
                                    .getValue())
                            [0];
                    for (int token : GoldenEncoder.tokens(ids)) {
                        vectors.add(states[token]);
                    }
                    if (result.get("logits").isPresent()) {
                        logits.addAll(
                                List.of((float[][]) result.get("logits").get().getValue()));
                    }
                }
            }
        }
        Map<String, List<float[]>> tensors = new HashMap<>(Map.of("vectors", vectors));
        if (!logits.isEmpty()) {
            tensors.put("logits", logits);
        }
        write(tensors, file, command);
    }

    private static OrtSession.Result run(OrtSession session, GoldenEncoder encoder, long[] ids) throws OrtException {
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        Map<String, OnnxTensor> inputs = new HashMap<>();
        inputs.put("input_ids", OnnxTensor.createTensor(environment, new long[][] {ids}));
        if (encoder.hasTypes()) {
            inputs.put("token_type_ids", OnnxTensor.createTensor(environment, new long[][] {GoldenEncoder.types(ids)}));
        }
        try {
            return session.run(inputs);
        } finally {
            inputs.values().forEach(OnnxTensor::close);
        }
    }

    private static void write(Map<String, List<float[]>> tensors, Path file, String command) throws IOException {
        StringBuilder header = new StringBuilder(
                "{\"__metadata__\":{\"oracle\":\"onnxruntime 1.29.0\",\"command\":\"" + command + "\"}");
        int at = 0;
        List<float[]> rows = new ArrayList<>();
        for (String name : tensors.keySet().stream().sorted().toList()) {
            List<float[]> tensor = tensors.get(name);
            int columns = tensor.getFirst().length;
            int end = at + Float.BYTES * tensor.size() * columns;
            header.append(String.format(
                    ",\"%s\":{\"dtype\":\"F32\",\"shape\":[%d,%d],\"data_offsets\":[%d,%d]}",
                    name, tensor.size(), columns, at, end));
            rows.addAll(tensor);
            at = end;
        }
        header.append("}").repeat(" ", (8 - header.length() % 8) % 8);
        ByteBuffer out = ByteBuffer.allocate(8 + header.length() + at).order(ByteOrder.LITTLE_ENDIAN);
        out.putLong(header.length()).put(header.toString().getBytes(StandardCharsets.UTF_8));
        for (float[] row : rows) {
            for (float value : row) {
                out.putFloat(value);
            }
        }
        Files.write(file, out.array());
    }
}
