package io.multihead.jmh.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.jmh.bench.Comparison;
import io.multihead.jmh.bench.Roofline;
import io.multihead.jmh.bench.Work;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResultsTest {
    private static final Case SGEMM = new Case("Sgemm", Map.of("size", "256", "threads", "1"));

    @TempDir
    private Path folder;

    private int files;

    @Test
    void roundsOfOneImplAreMerged() throws IOException {
        round(1, "this", "multihead", 2.0, 2.2, 2.4);
        round(2, "this", "multihead", 3.0, 3.1, 3.2);
        round(3, "this", "multihead", 1.0, 1.1, 9.0);
        Times times = read("this").get("multihead").times();
        assertEquals(Map.of(1, 2.2, 2, 3.1, 3, 1.1), times.rounds());
        assertEquals(2.2, times.median());
        assertEquals(3.1 / 2.2, times.spread(), 1e-12);
    }

    @Test
    void ratioIsToTheFastestPeerOfTheSameRound() throws IOException {
        double[][] rounds = {{10, 11, 12}, {20, 22, 19}, {10, 15, 11}, {40, 44, 48}, {10, 12, 11}};
        for (int round = 0; round < rounds.length; round++) {
            round(round + 1, "this", "multihead", rounds[round][0]);
            round(round + 1, "this", "onednn", rounds[round][1]);
            round(round + 1, "this", "openblas", rounds[round][2]);
        }
        round(6, "this", "multihead", 1); // a result without a peer in its round is not compared
        Map<String, Result> impls = read("this");
        Ratio ratio = Results.overBestPeer(impls, impls.get("multihead"));
        assertEquals(0.95, ratio.low(), 1e-12);
        assertEquals(1.1, ratio.high(), 1e-12);
        assertEquals(1.1, ratio.median(), 1e-12);
    }

    @Test
    void implsThatDoOtherWorkHaveNoRatioAndAreNobodysPeer() throws IOException {
        for (int round = 1; round <= 5; round++) {
            round(round, "this", "multihead", 10);
            round(round, "this", "multiheadids", 8);
            round(round, "this", "onnxpadded", 12);
            round(round, "this", "onnxint8", 4);
        }
        Map<String, Result> impls = read("this");
        assertEquals(12, Results.bestPeer(impls));
        assertEquals(1.2, Results.overBestPeer(impls, impls.get("multihead")).median(), 1e-12);
        assertEquals(Ratio.NONE, Results.overBestPeer(impls, impls.get("multiheadids")));
        String table = new Tables(new Limits()).results(Map.of(SGEMM, impls));
        assertTrue(table.contains("| multihead | 10.00 | 1.00 | 3.4 GFLOP/s | 1.20 |"), table);
        assertTrue(table.contains("| multiheadids | 8.000 | 1.00 | 4.2 GFLOP/s |  |  |  |"), table);
        assertTrue(table.contains("| onnxint8 | 4.000 | 1.00 | 8.4 GFLOP/s |  |  |  |"), table);
    }

    @Test
    void buildsAreReadApartAndComparedRoundByRound() throws IOException {
        for (int round = 1; round <= 5; round++) {
            round(round, "base", "multihead", 11.0 * round);
            round(round, "this", "multihead", 10.0 * round);
        }
        Ratio ratio = Results.overFastest(
                List.of(read("base").get("multihead")), read("this").get("multihead"));
        assertEquals(1.1, ratio.low(), 1e-12);
        assertEquals("ahead", ratio.verdict());
        String table = Compare.table(readAll("base"), readAll("this"));
        assertTrue(table.contains("| 1.100 | 1.100 to 1.100 | ahead |"), table);
    }

    @Test
    void forksOfPlainJmhAreRounds() throws IOException {
        Files.writeString(
                folder.resolve("jmh.json"), "[" + entry("Sgemm", "multiply", "multihead", "[2.0], [4.0], [3.0]") + "]");
        assertEquals(
                Map.of(1, 2.0, 2, 4.0, 3, 3.0),
                read("this").get("multihead").times().rounds());
    }

    @Test
    void incompleteFilesAndEmptyFoldersAreErrors() throws IOException {
        assertThrows(IOException.class, () -> readAll("this"));
        Files.writeString(folder.resolve("half.json"), "{\"round\":1,");
        IOException error = assertThrows(IOException.class, () -> readAll("this"));
        assertTrue(error.getMessage().contains("half.json"), error.getMessage());
    }

    @Test
    void newerCasesReplaceOlderOnesWhole() throws IOException {
        round(1, "this", "multihead", 5);
        round(1, "this", "onednn", 6);
        control(1, 10);
        Results older = readAll("this");
        Results newer =
                new Results(List.of(older.benchmarks.get("Sgemm").get(SGEMM).get("multihead")), new Limits());
        Results merged = older.replacedBy(newer);
        assertNull(
                merged.benchmarks.get("Sgemm").get(SGEMM).get("onednn"), "of another run, whose rounds are not these");
        assertEquals(older.limits.facts(), merged.limits.facts());
        assertEquals(
                2, older.replacedBy(new Results(List.of(), new Limits())).all().size());
    }

    @Test
    void controlsAreLimitsAndTellSlowRounds() throws IOException {
        for (int round = 1; round <= 5; round++) {
            control(round, round == 4 ? 11 : 10);
        }
        control(2, 9.9);
        round(1, "this", "multihead", 5);
        Limits limits = readAll("this").limits;
        double peak = Roofline.operations(Machine.lanes(List.of())) / 9.9 * 1e-6;
        assertEquals(peak, limits.of(Work.Unit.OPERATIONS, 1), 1e-9, "the highest of all forks");
        assertEquals(List.of(4), List.copyOf(limits.controls().flagged()));
        assertTrue(
                limits.controls().table().contains("differs by more than 5 %"),
                limits.controls().table());
    }

    @Test
    void limitThatAKernelExceedsIsReported() throws IOException {
        control(1, 10);
        double peak = Roofline.operations(Machine.lanes(List.of())) / 10 * 1e-6;
        double atPeak = 2 * Math.pow(256, 3) / peak * 1e-6;
        round(1, "this", "multihead", atPeak / 1.01);
        round(1, "this", "onednn", atPeak / 1.05);
        Results results = readAll("this");
        List<String> exceeded = results.limits.exceeded(results);
        assertEquals(1, exceeded.size(), exceeded.toString());
        assertTrue(exceeded.getFirst().contains("onednn"), exceeded.toString());
    }

    @Test
    void studyIsReadAsItWasWritten() throws IOException {
        for (int round = 1; round <= 5; round++) {
            control(round, 10 + 0.01 * round);
            round(round, "this", "multihead", 5 + round);
            round(round, "this", "onednn", 6 + round);
        }
        Results results = readAll("this");
        results.limits.put(Work.Unit.BYTES, 2, 42);
        Study study = new Study("Kind", "model, 2 processors", results);
        Study read = stored(study);
        assertEquals(Sections.pages("a", study), Sections.pages("a", read));
        assertFalse(Sections.pages("a", read).toString().contains("NaN"));
    }

    @Test
    void summaryWithoutRoundsHasNoVerdict() throws IOException {
        Result ours = of("multihead", Times.summary(2, 1.1));
        Result peer = of("onednn", Times.summary(4, Double.NaN));
        Study study = new Study("Kind", "model", new Results(List.of(ours, peer), new Limits()));
        Study read = stored(study);
        String text = Sections.section(read);
        assertTrue(text.contains("| size=256, threads=1 | multihead | 2.000 | 1.10 | 16.8 GFLOP/s | 2.00 |"), text);
        assertFalse(text.contains("ahead"), text);
    }

    @Test
    void chartsShowImplsThatDoTheSameWork() {
        Result ours = of("multihead", Times.summary(4, 1));
        Result peer = of("openblas", Times.summary(2, 1));
        Result narrow = of("jlama", sgemm(128), Times.summary(1, 1));
        Result wide = of("multihead-f32", sgemm(512), Times.summary(4, 1));
        Map<String, Double> speeds =
                Charts.speeds(Map.of("openblas", peer, "jlama", narrow, "multihead", ours, "multihead-f32", wide));
        double speed = 2 * Math.pow(256, 3) * 1e-6;
        assertEquals(
                Map.of("multihead", speed / 4, "openblas", speed / 2),
                speeds,
                "what does less work would look slow, what does more fast");
        assertEquals(List.of("multihead", "openblas"), List.copyOf(speeds.keySet()));
    }

    @Test
    void pageKeepsOtherProcessors() throws IOException {
        Path file = folder.resolve("page.md");
        Files.writeString(file, "before\n<!-- study:begin -->\nold\n<!-- study:end -->\nafter\n");
        add(file, "AMD One", of("multihead", Times.summary(2, 1)));
        add(file, "Intel Two", of("multihead", Times.summary(3, 1)));
        String text = Files.readString(file);
        assertTrue(text.startsWith("before\n") && text.endsWith("after\n"), text);
        assertTrue(text.contains("| AMD One | Intel Two |"), text);
        assertTrue(Files.readString(folder.resolve("page/amd-one/Sgemm.md")).contains("| 2.000 |"));
        assertTrue(Files.readString(folder.resolve("page/intel-two/Sgemm.md")).contains("| 3.000 |"));
        assertTrue(Files.readString(folder.resolve("page/amd-one.md")).startsWith("# AMD One\n"));
        assertTrue(Files.exists(folder.resolve("page/amd-one.json"))
                && Files.exists(folder.resolve("page/intel-two.json")));
    }

    @Test
    void claimsCountVerdicts() {
        Times ours = Times.of(rounds(2, 2, 2, 2, 2));
        Result peer = of("openblas", Times.of(rounds(3, 3.2, 3, 2.8, 3)));
        Result best = of("onednn", Times.of(rounds(1, 1, 1, 1, 1)));
        Results results = new Results(List.of(of("multihead", ours), peer), new Limits());
        assertEquals("1.50: ahead", Claims.summary(results.benchmarks.get("Sgemm")));
        results = new Results(List.of(of("multihead", ours), peer, best), new Limits());
        assertEquals("0.50: behind", Claims.summary(results.benchmarks.get("Sgemm")));
        Map<Case, Map<String, Result>> cases = new TreeMap<>(Map.of(
                SGEMM,
                Map.of("multihead", of("multihead", ours), "openblas", peer),
                new Case("Sgemm", Map.of("size", "512")),
                Map.of("multihead", of("multihead", ours), "onednn", best),
                new Case("Sgemm", Map.of("size", "64")),
                Map.of("multihead", of("multihead", ours), "onednn", peer)));
        assertEquals("0.50 to 1.50: 2 ahead, 1 behind", Claims.summary(cases));
        assertEquals(
                "",
                Claims.summary(
                        Map.of(SGEMM, Map.of("multihead", of("multihead", Times.summary(2, 1)), "onednn", best))));
    }

    @Test
    void overviewTakesTheFastestImplOfAPeer() {
        Map<String, Double> speeds = Overview.speeds(Map.of(
                "multihead", of("multihead", Times.of(rounds(2, 2, 3))),
                "onnxsingle", of("onnxsingle", Times.of(rounds(4, 8, 4))),
                "onnxpadded", of("onnxpadded", Times.of(rounds(1, 2, 3))),
                "onnxint8", of("onnxint8", Times.of(rounds(1, 1, 1))),
                "scalar", of("scalar", Times.summary(9, 1))));
        assertEquals(Map.of("multihead", 1.0, "ONNX Runtime", 1.0), speeds);
        assertEquals(Map.of(), Overview.speeds(Map.of("onnxruntime", of("onnxruntime", Times.of(rounds(1))))));
    }

    private static void add(Path file, String processor, Result result) throws IOException {
        Page page = new Page(file);
        page.write(page.add(new Study(processor, "model", new Results(List.of(result), new Limits()))));
    }

    private static Study stored(Study study) throws IOException {
        return StudyFile.read(new ObjectMapper().readTree(StudyFile.write(study)));
    }

    private static TreeMap<Integer, List<Double>> rounds(double... milliseconds) {
        TreeMap<Integer, List<Double>> rounds = new TreeMap<>();
        for (double time : milliseconds) {
            rounds.put(rounds.size() + 1, List.of(time));
        }
        return rounds;
    }

    private static Result of(String impl, Times times) {
        return of(impl, sgemm(256), times);
    }

    private static Work sgemm(int size) {
        return Comparison.work("io.multihead.jmh.bench.SgemmBench", Map.of("size", "" + size, "threads", "1"));
    }

    private static Result of(String impl, Work work, Times times) {
        Result.Run run = new Result.Run(1, "25", List.of(), 16, "5 forks", "2026-01-01");
        Result.Calls none = new Result.Calls(Double.NaN, Double.NaN, Double.NaN);
        return new Result("Sgemm", "multiply", new TreeMap<>(SGEMM.parameters()), impl, work, times, none, run);
    }

    private Map<String, Result> read(String build) throws IOException {
        return readAll(build).benchmarks.get("Sgemm").get(SGEMM);
    }

    private Results readAll(String build) throws IOException {
        return Results.read(List.of(folder), build);
    }

    private void control(int round, double milliseconds) throws IOException {
        write(round, "this", entry("Roofline", "fmaPeak", "", "[" + milliseconds + "]"));
    }

    private void round(int round, String build, String impl, double... iterations) throws IOException {
        write(round, build, entry("SgemmBench", "multiply", impl, Arrays.toString(iterations)));
    }

    private void write(int round, String build, String entry) throws IOException {
        String text = "{\"round\":%d,\"build\":\"%s\",\"start\":\"2026-01-02T03:04:05Z\",\"results\":[%s]}"
                .formatted(round, build, entry);
        Files.writeString(folder.resolve("%04d.json".formatted(files++)), text);
    }

    private static String entry(String type, String method, String impl, String rawData) {
        String bench = type.equals("Sgemm") ? "SgemmBench" : type;
        String params = impl.isEmpty()
                ? ""
                : "\"params\":{\"impl\":\"%s\",\"size\":\"256\",\"threads\":\"1\"},".formatted(impl);
        return """
                {"benchmark":"io.multihead.jmh.bench.%s.%s","mode":"avgt","threads":1,%s"jdkVersion":"25","jvmArgs":[],
                 "primaryMetric":{"score":1,"scoreUnit":"ms/op","rawData":[%s]}}""".formatted(bench, method, params, rawData);
    }
}
