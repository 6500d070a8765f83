package io.multihead.demo.serve;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Vectors of texts as in OpenAI's protocol, and scores of passages as in the protocols of Cohere and Jina. Thread-safe.
 */
final class VectorApi {
    private static final int MOST_TEXTS = 2048;

    private VectorApi() {}

    /** Answers {@code /v1/embeddings}. */
    static JsonNode embeddings(String name, VectorModels.Embedding model, Fields fields) {
        ApiException.requireModel(fields, name);
        fields.require("input");
        List<String> texts = fields.texts("input", MOST_TEXTS);
        String format = fields.text("encoding_format", "float");
        if (!format.equals("float") && !format.equals("base64")) {
            throw fields.wrong("encoding_format", format + "; expected float or base64");
        }
        int dimension =
                (int) fields.integer("dimensions", model.leastDimension(), model.dimension(), model.dimension());
        fields.without("user").end();
        float[][] vectors = model.ofDimension().apply(dimension).embed(texts);
        ObjectNode root = JsonNodeFactory.instance.objectNode().put("object", "list");
        ArrayNode data = root.putArray("data");
        for (int i = 0; i < vectors.length; i++) {
            ObjectNode entry = data.addObject().put("object", "embedding").put("index", i);
            if (format.equals("base64")) {
                ByteBuffer bytes =
                        ByteBuffer.allocate(vectors[i].length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
                bytes.asFloatBuffer().put(vectors[i]);
                entry.put("embedding", Base64.getEncoder().encodeToString(bytes.array()));
            } else {
                ArrayNode numbers = entry.putArray("embedding");
                for (float number : vectors[i]) {
                    numbers.add(number);
                }
            }
        }
        int tokens = texts.stream().mapToInt(model.count()).sum();
        root.put("model", name).putObject("usage").put("prompt_tokens", tokens).put("total_tokens", tokens);
        return root;
    }

    /** Answers {@code /v1/rerank}. */
    static JsonNode rerank(String name, VectorModels.Ranking model, Fields fields) {
        ApiException.requireModel(fields, name);
        String query = fields.text("query");
        fields.require("documents");
        List<String> documents = fields.texts("documents", MOST_TEXTS);
        int most = (int) fields.integer("top_n", 1, MOST_TEXTS, MOST_TEXTS);
        boolean returned = fields.flag("return_documents", false);
        fields.end();
        ObjectNode root = JsonNodeFactory.instance.objectNode().put("model", name);
        ArrayNode results = root.putArray("results");
        double[] scores = model.scores().apply(query, documents);
        Comparator<Integer> byScore = Comparator.comparingDouble(i -> scores[i]);
        for (int i : IntStream.range(0, scores.length)
                .boxed()
                .sorted(byScore.reversed())
                .limit(most)
                .toList()) {
            ObjectNode result = results.addObject().put("index", i).put("relevance_score", scores[i]);
            if (returned) {
                result.putObject("document").put("text", documents.get(i));
            }
        }
        return root;
    }
}
