package io.multihead.it.springai;

import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.TextEmbedder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.springframework.ai.document.Document;
import org.springframework.ai.embedding.EmbeddingResponse;

/** Requires that Spring AI's calls return the vectors of a language model, which is small and has random weights. */
final class CheckTextEmbedding {
    private CheckTextEmbedding() {}

    static void run(Compute cpu) throws IOException {
        List<String> texts = List.of("A cat sleeps.", "Stocks fell.");
        Path file = Files.createTempFile("embedding", ".gguf");
        FamilyModel.write(file);
        try (LanguageModel loaded = LanguageModel.load(cpu, file)) {
            TextEmbedder embedder = loaded.embedder().withPrompt("text: ");
            MultiheadTextEmbeddingModel model = new MultiheadTextEmbeddingModel("tiny", embedder);
            float[][] expected = embedder.embed(texts);
            EmbeddingResponse response = model.embedForResponse(texts);
            require(response.getMetadata().getModel().equals("tiny"), "name of the model");
            int tokens = embedder.count(texts.get(0)) + embedder.count(texts.get(1));
            require(response.getMetadata().getUsage().getPromptTokens() == tokens, "number of tokens");
            require(model.dimensions() == expected[0].length, "dimensions: " + model.dimensions());
            for (int i = 0; i < expected.length; i++) {
                same(expected[i], response.getResults().get(i).getOutput(), "response " + i);
                same(expected[i], model.embed(texts.get(i)), "text " + i);
                Document document = new Document(texts.get(i));
                float[] ofDocument = embedder.forDocuments().embed(model.getEmbeddingContent(document));
                same(ofDocument, model.embed(document), "document " + i);
            }
            System.out.println("Spring AI: " + texts.size() + " texts, a language model's vectors");
        } finally {
            Files.delete(file);
        }
    }

    private static void same(float[] expected, float[] actual, String what) {
        require(Arrays.equals(expected, actual), "another vector: " + what);
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalStateException(otherwise);
        }
    }
}
