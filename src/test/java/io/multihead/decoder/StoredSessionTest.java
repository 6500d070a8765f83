package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.Safetensors;
import io.multihead.position.Rope;
import io.multihead.position.RopeScaling;
import io.multihead.position.RopeSections;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Session files of an earlier version, and the fields that their checksums cover. */
class StoredSessionTest {
    private static final Path GOLDEN = Path.of("src/test/resources/golden/session");

    @TempDir
    private Path folder;

    private final Compute cpu = Compute.serial();

    private static void assertGoesOn(LanguageModel model, String file, int[] tokens) throws IOException {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session loaded = sessions.load(GOLDEN.resolve(file));
                Session fresh = sessions.open().append(tokens)) {
            assertArrayEquals(tokens, loaded.tokens());
            assertArrayEquals(fresh.nextLogits(), loaded.nextLogits());
        }
    }

    @Tag("lanes")
    @Test
    void aSessionOfTheFirstVersionOfSettingsGoesOn() throws IOException {
        try (LanguageModel tiny = TinyDecoder.endless(cpu, 1)) {
            assertGoesOn(tiny, "decoder-tiny.safetensors", prompt(tiny));
        }
    }

    private static int[] prompt(LanguageModel model) {
        return model.tokenizer().withSpecialTokens(model.tokenizer().encode("Once upon a time"));
    }

    /** The models have other frequencies, which the checksum covers. */
    @ParameterizedTest
    @CsvSource({"LLAMA_3, decoder-llama-3.safetensors", "PHI_4, decoder-phi-4.safetensors"})
    void sessionsOfFamiliesGoOn(Kind kind, String file) throws IOException {
        Path weights = folder.resolve("model.gguf");
        new FamilyFile(kind, 5).write(weights);
        try (LanguageModel model = LanguageModel.load(cpu, weights)) {
            assertGoesOn(model, file, new int[] {5, 6, 7});
        }
    }

    /** Checksums are the same as in files of the first version. */
    @ParameterizedTest
    @CsvSource({
        "QWEN_2, 0bdb146b57c3468f3cb16a144c40506f",
        "QWEN_3, 816b7d408f29e8994336a18e284ab5c8",
        "GEMMA_3, fcbdb6862abb1f3dd6ca43aca303ebe4",
        "SMOLLM_3, f83d7485481a5c984218ba0cbbee94cc"
    })
    void checksumsStay(Kind kind, String checksum) throws IOException {
        Path weights = folder.resolve("model.gguf");
        new FamilyFile(kind, 5).write(weights);
        Path file = folder.resolve("session");
        try (LanguageModel model = LanguageModel.load(cpu, weights);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Arena arena = Arena.ofConfined()) {
            sessions.open().append(5, 6, 7).save(file);
            assertEquals(checksum, Safetensors.map(arena, file).metadata().get("note checksum"));
        }
    }

    private static String text(Rope rope) {
        DecoderConfig tiny = TinyDecoder.config();
        DecoderConfig config = new DecoderConfig(
                tiny.family(),
                tiny.sizes(),
                tiny.attention(),
                tiny.norms(),
                Collections.nCopies(2, new LayerRule(rope, 3)),
                tiny.activation(),
                tiny.ends());
        String text = ModelSettings.of(config, false);
        String begin = "DecoderConfig[family=tiny, sizes=Sizes[layers=2, dim=32, heads=4, keyValueHeads=2, headDim=8,"
                + " context=200], attention=AttentionRule[scale=0.35355339059327373, needsBiases=false,"
                + " normalisesHeads=false, softCap=0.0], norms=NormRule[epsilon=1.0E-5, onePlus=false,"
                + " sandwich=false], layers=[LayerRule[rope=Config[rotaryDims=8, theta=10000.0, pairing=HALF_SPLIT,"
                + " scaling=";
        String end =
                ", window=3]], activation=SILU, ends=Ends[embeddingScale=1.0, softCap=0.0, head=ANY], fused=false]";
        assertTrue(text.startsWith(begin), text);
        assertTrue(text.endsWith(end), text);
        String layer = text.substring(begin.length(), text.length() - end.length());
        return layer.substring(0, layer.indexOf(", window"));
    }

    private static String text(RopeScaling scaling) {
        return text(Rope.of(Rope.Config.of(8).withScaling(scaling)));
    }

    /** The text of every kind of frequencies is part of the file format. */
    @Test
    void settingsHaveTheTextOfTheFirstVersion() {
        assertEquals("None[]]", text(RopeScaling.NONE));
        assertEquals("Linear[factor=2.5]]", text(new RopeScaling.Linear(2.5)));
        assertEquals("NtkAware[factor=2.5]]", text(new RopeScaling.NtkAware(2.5)));
        assertEquals(
                "Yarn[factor=4.0, originalContext=32, betaFast=32.0, betaSlow=1.0, attentionFactor=1.138629436111989,"
                        + " truncate=true]]",
                text(RopeScaling.Yarn.of(4, 32)));
        assertEquals(
                "Llama3[factor=32.0, lowFrequencyFactor=1.0, highFrequencyFactor=4.0, originalContext=8192]]",
                text(new RopeScaling.Llama3(32, 1, 4, 8192)));
        assertEquals(
                "LongRope[shortFactors=[1.0, 1.0, 2.0, 2.0], longFactors=[3.0, 3.0, 4.0, 4.0], originalContext=16,"
                        + " context=16, attentionFactor=1.0]]",
                text(RopeScaling.LongRope.of(List.of(1.0, 1.0, 2.0, 2.0), List.of(3.0, 3.0, 4.0, 4.0), 16, 16)));
        assertEquals(
                "Frequencies[perPosition=[1.0, 0.5, 0.25, 0.125], attentionFactor=1.0]]",
                text(RopeScaling.Frequencies.of(1, 0.5, 0.25, 0.125)));
        assertEquals("Proportional[fraction=0.5, factor=1.0]]", text(new RopeScaling.Proportional(0.5, 1)));
        RopeSections sections = RopeSections.consecutive(2, 1, 1);
        assertEquals("None[]], " + sections, text(Rope.of(Rope.Config.of(8)).withSections(sections)));
        assertEquals(
                ModelSettings.of(TinyDecoder.config(), false) + " eightBitInputs",
                ModelSettings.of(TinyDecoder.config(), true));
    }
}
