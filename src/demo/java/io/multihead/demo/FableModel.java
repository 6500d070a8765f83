package io.multihead.demo;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GeneratedToken;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.demo.llama.Llama;
import io.multihead.demo.llama.LlamaFile;
import io.multihead.demo.llama.LlamaFile.Weights;
import io.multihead.demo.llama.LlamaTraining;
import io.multihead.tensor.Tensor;
import io.multihead.text.Tokenizer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** The small Llama that the study trains on the fables. It generates text with its layers and from files. */
final class FableModel {
    /** The file that the study keeps in its folder. */
    static final String FILE = "fables.gguf";

    static final String PROMPT = "The Lion and the Fox\n";
    static final int LENGTH = 100;
    private static final int VOCABULARY = 320;
    private static final int CONTEXT = 256;

    private final Compute cpu;
    private final LlamaTraining.Trained trained;
    private final Tokenizer tokenizer;
    private final String unseen;

    /** The greedy text of a model that was loaded from a file. */
    record Written(long bytes, int[] tokens, String text, float[] logits) {}

    /** The greedy text of the trained layers, which compute all tokens again for each new token. */
    record Computed(int[] tokens, float[] logits, double margin) {}

    private FableModel(Compute cpu, LlamaTraining.Trained trained, String unseen) {
        this.cpu = cpu;
        this.trained = trained;
        this.unseen = unseen;
        tokenizer = trained.pieces().tokenizer();
    }

    /** Starts the training. The seed and the number of steps determine the model. */
    static CompletableFuture<FableModel> start(
            Parallel parallel, Fables fables, long seed, int steps, Consumer<String> step) {
        List<String> texts = texts(fables);
        return parallel.start(() -> {
            LlamaTraining training = new LlamaTraining(texts, VOCABULARY, parallel.serial(), seed);
            LlamaTraining.Trained trained = training.train(
                    new Llama.Config(VOCABULARY, 96, 192, 2, 4, 2),
                    steps,
                    (_, loss) -> step.accept(HeadExhibits.format("fables, loss %.2f", loss)));
            return new FableModel(parallel.serial(), trained, texts.getLast());
        });
    }

    /** Returns each fable as its title, a line end, and its sentences. */
    static List<String> texts(Fables fables) {
        Map<String, String> texts = new LinkedHashMap<>();
        for (int i = 0; i < fables.sentences().size(); i++) {
            String title = fables.titles().get(i);
            String sentence = fables.sentences().get(i);
            texts.merge(title, title + "\n" + sentence, (text, _) -> text + " " + sentence);
        }
        return List.copyOf(texts.values());
    }

    LlamaTraining.Trained trained() {
        return trained;
    }

    Tokenizer tokenizer() {
        return tokenizer;
    }

    /** Returns a held-out fable. */
    String unseen() {
        return unseen;
    }

    /** Returns attention weights {@code [heads, tokens, tokens]} of every layer. */
    List<Tensor> weights(int[] tokens) {
        return trained.model().weights(cpu, tokens);
    }

    /** Returns the greedy text of the layers. */
    Computed computed() {
        int[] prompt = tokenizer.encode(PROMPT);
        int[] tokens = prompt;
        float[] first = {};
        double margin = Double.POSITIVE_INFINITY;
        for (int i = 0; i < LENGTH; i++) {
            float[] logits = trained.model().nextLogits(cpu, tokens);
            first = i == 0 ? logits : first;
            int best = best(logits, -1);
            margin = Math.min(margin, logits[best] - logits[best(logits, best)]);
            tokens = Arrays.copyOf(tokens, tokens.length + 1);
            tokens[tokens.length - 1] = best;
            if (tokenizer.isStopToken(best)) {
                break;
            }
        }
        return new Computed(Arrays.copyOfRange(tokens, prompt.length, tokens.length), first, margin);
    }

    private static int best(float[] logits, int without) {
        return Values.largest(logits.length, id -> id == without ? Double.NEGATIVE_INFINITY : logits[id]);
    }

    /** Saves the model, loads it like any other language model, and generates text. */
    Written written(Weights weights, Path file) throws IOException {
        LlamaFile.write(trained.model(), trained.pieces(), CONTEXT, weights, file);
        try (LanguageModel model = LanguageModel.load(cpu, file);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32));
                Session session = sessions.open().append(PROMPT)) {
            float[] logits = session.nextLogits();
            GeneratedText text = session.generate(GenerationOptions.DEFAULT.withMaxTokens(LENGTH));
            int[] tokens = text.tokens().stream().mapToInt(GeneratedToken::id).toArray();
            return new Written(Files.size(file), tokens, text.text(), logits);
        }
    }

    /** Returns the texts of all kinds of files. The file in bf16 remains in the folder. */
    Map<Weights, Written> written(Path folder) throws IOException {
        Map<Weights, Written> all = new LinkedHashMap<>();
        for (Weights weights : Weights.values()) {
            Path file = folder.resolve(weights == Weights.BF16 ? FILE : weights + ".tmp");
            try {
                all.put(weights, written(weights, file));
            } finally {
                if (weights != Weights.BF16) {
                    Files.deleteIfExists(file);
                }
            }
        }
        return all;
    }

    /** Returns the pieces of tokens, with marks for spaces and line ends. */
    List<String> pieces(int[] tokens) {
        return Arrays.stream(tokens)
                .mapToObj(
                        token -> tokenizer.decode(token).replace(' ', '\u00b7').replace("\n", "\\n"))
                .toList();
    }

    /** Returns whether each token begins a word, which is after a space, at a new line, or at a punctuation mark. */
    boolean[] begins(int[] tokens) {
        boolean[] begins = new boolean[tokens.length];
        for (int i = 0; i < tokens.length; i++) {
            String piece = tokenizer.decode(tokens[i]);
            boolean afterLine = i > 0 && tokenizer.decode(tokens[i - 1]).endsWith("\n");
            begins[i] = afterLine || piece.isEmpty() || !Character.isLetter(piece.charAt(0));
        }
        return begins;
    }
}
