package io.multihead.demo;

import io.multihead.compute.Compute;
import io.multihead.encoder.Reranker;
import io.multihead.encoder.ScoreActivation;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.format.OnnxWeights;
import io.multihead.format.Safetensors;
import io.multihead.gemm.WeightFormat;
import io.multihead.model.Pooling;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Prints the errors of encoders with weights in each format: cosines and errors of vectors compared with f32, and scores of a reranker. */
@Command(
        name = "WeightErrors",
        mixinStandardHelpOptions = true,
        description = "Errors of vectors and scores by the format of weights.")
public final class WeightErrors implements Callable<Integer> {
    /** The formats with block sizes that divide rows of 384 elements. */
    private static final List<WeightFormat> FORMATS = List.of(
            WeightFormat.BF16,
            WeightFormat.F16,
            WeightFormat.Q8_0,
            WeightFormat.Q5_1,
            WeightFormat.Q5_0,
            WeightFormat.Q4_1,
            WeightFormat.Q4_0);

    private static final int DIM = 384;

    @Option(names = "--texts", description = "sentences of Aesop's fables (${DEFAULT-VALUE})")
    private int texts = 200;

    @Parameters(description = "jars of langchain4j-embeddings; pooling is that of the model")
    private List<Path> jars = List.of();

    /**
     * The errors of a format: least and mean cosine of vectors to the f32 vectors, the largest error of an element, and
     * the share of texts with the same nearest text.
     */
    private record Loss(double least, double mean, double largest, double nearest) {}

    private final Consumer<String> out;

    /** Creates an instance that prints to the standard output. */
    public WeightErrors() {
        this(System.out::println);
    }

    WeightErrors(Consumer<String> out) {
        this.out = out;
    }

    public static void main(String[] arguments) {
        System.exit(Commands.of(new WeightErrors()).execute(arguments));
    }

    @Override
    public Integer call() throws IOException {
        List<String> sentences = Fables.read().first(texts).sentences();
        out.accept("| model | weights | memory | least cosine | mean cosine | largest error | same neighbor |");
        out.accept("|---|---|---|---|---|---|---|");
        try (Compute cpu = Compute.threads(Runtime.getRuntime().availableProcessors())) {
            for (Path jar : jars) {
                try (ZipFile zip = new ZipFile(jar.toFile())) {
                    vectors(cpu, zip, sentences);
                }
            }
        }
        out.accept("");
        scores(sentences);
        return 0;
    }

    private void vectors(Compute cpu, ZipFile zip, List<String> sentences) throws IOException {
        String name = zip.stream()
                .map(ZipEntry::getName)
                .filter(entry -> entry.endsWith(".onnx"))
                .findFirst()
                .orElseThrow(() -> new IOException(zip.getName() + ": no file .onnx"))
                .replace(".onnx", "");
        try (SentenceEncoder whole = load(cpu, zip, name, WeightFormat.F32)) {
            float[][] exact = whole.embed(sentences);
            for (WeightFormat format : FORMATS) {
                try (SentenceEncoder encoder = load(cpu, zip, name, format)) {
                    Loss loss = loss(exact, encoder.embed(sentences));
                    out.accept(String.format(
                            Locale.ROOT,
                            "| %s | %s | %.2f | %.6f | %.6f | %.5f | %.1f %% |",
                            name,
                            format,
                            (double) encoder.ownBytes() / whole.ownBytes(),
                            loss.least,
                            loss.mean,
                            loss.largest,
                            100 * loss.nearest));
                }
            }
        }
    }

    private static SentenceEncoder load(Compute cpu, ZipFile zip, String name, WeightFormat format) throws IOException {
        Pooling pooling = name.startsWith("bge") ? Pooling.CLS : Pooling.MEAN;
        try (InputStream onnx = zip.getInputStream(zip.getEntry(name + ".onnx"));
                InputStream tokenizer = zip.getInputStream(zip.getEntry(name + "-tokenizer.json"))) {
            return SentenceEncoder.ofOnnx(cpu, onnx, tokenizer, pooling, format);
        }
    }

    private static Loss loss(float[][] exact, float[][] actual) {
        double least = 1;
        double sum = 0;
        double largest = 0;
        int nearest = 0;
        for (int i = 0; i < exact.length; i++) {
            double cosine = dot(exact[i], actual[i]) / Math.sqrt(dot(actual[i], actual[i]) * dot(exact[i], exact[i]));
            least = Math.min(least, cosine);
            sum += cosine;
            for (int j = 0; j < exact[i].length; j++) {
                largest = Math.max(largest, Math.abs(exact[i][j] - actual[i][j]));
            }
            nearest += nearest(exact, i) == nearest(actual, i) ? 1 : 0;
        }
        return new Loss(least, sum / exact.length, largest, (double) nearest / exact.length);
    }

    /** Returns the text that is most similar to another text. */
    private static int nearest(float[][] vectors, int text) {
        int best = -1;
        for (int i = 0; i < vectors.length; i++) {
            if (i != text && (best < 0 || dot(vectors[i], vectors[text]) > dot(vectors[best], vectors[text]))) {
                best = i;
            }
        }
        return best;
    }

    private static double dot(float[] a, float[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * (double) b[i];
        }
        return sum;
    }

    /** Prints the errors of scores of MiniLM with a random cross-encoder head, since no jar has a trained head. */
    void scores(List<String> sentences) throws IOException {
        Path folder = Files.createTempDirectory("reranker");
        try (Compute cpu = Compute.threads(Runtime.getRuntime().availableProcessors())) {
            writeReranker(folder);
            String query = sentences.getFirst();
            out.accept(
                    "| reranker | weights | largest error of a score, of their standard deviation | order (Spearman) |");
            out.accept("|---|---|---|---|");
            double[] exact = scores(cpu, folder, WeightFormat.F32, query, sentences);
            double deviation = deviation(exact);
            for (WeightFormat format : FORMATS) {
                double[] actual = scores(cpu, folder, format, query, sentences);
                double largest = IntStream.range(0, exact.length)
                        .mapToDouble(i -> Math.abs(exact[i] - actual[i]))
                        .max()
                        .orElseThrow();
                out.accept(String.format(
                        Locale.ROOT,
                        "| %s with a random head | %s | %.5f | %.5f |",
                        TrainedModel.NAME,
                        format,
                        largest / deviation,
                        spearman(exact, actual)));
            }
        } finally {
            try (var files = Files.list(folder)) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
            Files.delete(folder);
        }
    }

    private static double[] scores(Compute cpu, Path folder, WeightFormat format, String query, List<String> sentences)
            throws IOException {
        try (Reranker reranker = Reranker.load(cpu, folder, format).withActivation(ScoreActivation.IDENTITY)) {
            return reranker.score(query, sentences);
        }
    }

    private static void writeReranker(Path folder) throws IOException {
        Files.writeString(
                folder.resolve("config.json"),
                "{\"architectures\": [\"BertForSequenceClassification\"], \"id2label\": {\"0\": \"LABEL_0\"}, "
                        + MiniLmFolder.CONFIG.strip().substring(1));
        Map<String, Tensor> weights = new LinkedHashMap<>();
        SplittableRandom random = new SplittableRandom(1);
        try (InputStream tokenizer = TrainedModel.open(TrainedModel.TOKENIZER);
                InputStream onnx = TrainedModel.open(TrainedModel.WEIGHTS)) {
            Files.write(folder.resolve("tokenizer.json"), tokenizer.readAllBytes());
            OnnxWeights file = OnnxWeights.read(onnx);
            for (String name : file.names()) {
                if (name.startsWith("embeddings.") || name.startsWith("encoder.")) {
                    weights.put("bert." + name, file.get(name));
                }
            }
            weights.put("bert.pooler.dense.weight", random(random, DIM, DIM));
            weights.put("bert.pooler.dense.bias", random(random, DIM));
            weights.put("classifier.weight", random(random, 1, DIM));
            weights.put("classifier.bias", random(random, 1));
            Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of("format", "pt"));
        }
    }

    private static Tensor random(SplittableRandom random, long... dims) {
        float[] values = new float[(int) Arrays.stream(dims).reduce(1, (a, b) -> a * b)];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (random.nextGaussian() / Math.sqrt(DIM));
        }
        return Tensor.of(values, dims);
    }

    private static double deviation(double... values) {
        double mean = Arrays.stream(values).average().orElseThrow();
        return Math.sqrt(Arrays.stream(values)
                .map(value -> (value - mean) * (value - mean))
                .average()
                .orElseThrow());
    }

    /** Returns the rank correlation (Spearman 1904). */
    private static double spearman(double[] a, double[] b) {
        int[] first = ranks(a);
        int[] second = ranks(b);
        double squares = 0;
        for (int i = 0; i < first.length; i++) {
            squares += Math.pow(first[i] - second[i], 2);
        }
        double n = first.length;
        return 1 - 6 * squares / (n * (n * n - 1));
    }

    private static int[] ranks(double[] values) {
        int[] ranks = new int[values.length];
        List<Integer> order = IntStream.range(0, values.length)
                .boxed()
                .sorted((i, j) -> Double.compare(values[i], values[j]))
                .toList();
        for (int rank = 0; rank < ranks.length; rank++) {
            ranks[order.get(rank)] = rank;
        }
        return ranks;
    }
}
