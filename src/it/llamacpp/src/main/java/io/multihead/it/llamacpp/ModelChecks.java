package io.multihead.it.llamacpp;

import io.multihead.format.Gguf;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Requires that llama.cpp loads the files of {@code GgufWriter} and computes the expected results. */
final class ModelChecks {
    private static final String SENTENCE = "the tea an eaten hat";

    private final Native library;
    private final Path libraries;
    private final Path folder;
    private final Path shared;
    private int[] sentence = {};

    /**
     * @param folder for the written files
     * @param shared a folder that may contain published models
     */
    ModelChecks(Native library, Path libraries, Path folder, Path shared) {
        this.library = library;
        this.libraries = libraries;
        this.folder = folder;
        this.shared = shared;
    }

    void run() throws IOException {
        Path f32 = folder.resolve("tiny.f32.gguf");
        TinyModel.write(f32, DType.F32);
        header(f32);
        float[] exact = logits(f32);
        try (LlamaCpp model = LlamaCpp.load(libraries, f32, TinyModel.POSITIONS, 1)) {
            System.out.println(model.system());
            tokens(f32, model);
            sentence = model.tokenize(SENTENCE, true, false);
        }
        decoder("F32", f32, exact);
        for (DType dtype : new DType[] {DType.F16, DType.BF16}) {
            Path file = folder.resolve("tiny." + dtype + ".gguf");
            TinyModel.write(file, dtype);
            header(file);
            // weights and activations of 11 and 8 bits in two layers
            compare(dtype.toString(), logits(file), exact, dtype == DType.F16 ? 0.005 : 0.04);
        }
        for (BlockType type : BlockType.values()) {
            Path blocks = folder.resolve("tiny." + type + ".gguf");
            Path values = folder.resolve("tiny." + type + ".values.gguf");
            TinyModel.write(blocks, type);
            TinyModel.writeValues(values, type);
            header(blocks);
            // the remaining difference is llama.cpp's rounding of activations to 8 bits; incorrectly read blocks would
            // differ by 1 and more
            compare(type.toString(), logits(blocks), logits(values), 0.05);
            decoder(type.toString(), blocks, logits(values));
        }
        trained(shared.resolve("stories260K/stories260K.f32.gguf"));
    }

    /** Compares this library's decoder, which has f32 activations, with llama.cpp with the same weights as f32. */
    private void decoder(String name, Path file, float[] expected) throws IOException {
        // 0.0007 was measured, since llama.cpp's attention multiplies f16 keys and values in f16
        compare(name + ", this library's decoder", DecoderChecks.logits(file, sentence), expected, 0.001);
    }

    /**
     * Requires that {@code gguf_init_from_file}, without contents, returns the same counts and names as {@link Gguf}.
     */
    private void header(Path file) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            // struct gguf_init_params { bool no_alloc; struct ggml_context ** ctx; }
            var parameters = MemoryLayout.structLayout(Native.LONG, Native.POINTER);
            MemorySegment none = arena.allocate(parameters);
            none.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
            var init = library.function("gguf_init_from_file", Native.POINTER, Native.POINTER, parameters);
            MemorySegment theirs = (MemorySegment) Native.invoke(init, arena.allocateFrom(file.toString()), none);
            require(!theirs.equals(MemorySegment.NULL), file + ": refused by gguf_init_from_file");
            Gguf ours = Gguf.map(arena, file);
            require(
                    (long) library.call("gguf_get_n_kv", Native.LONG, theirs)
                                    == ours.keys().size()
                            && (long) library.call("gguf_get_n_tensors", Native.LONG, theirs)
                                    == ours.names().size(),
                    file + ": other counts");
            long index = 0;
            for (String name : ours.names()) {
                MemorySegment text =
                        (MemorySegment) library.call("gguf_get_tensor_name", Native.POINTER, theirs, index);
                require(text.reinterpret(64).getString(0).equals(name), file + ": " + name + " is another there");
                index++;
            }
            library.call("gguf_free", null, theirs);
        }
    }

    private void tokens(Path file, LlamaCpp model) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            TokenizerChecks.run(file.getFileName().toString(), Gguf.map(arena, file), model);
        }
    }

    /** Returns the logits after each token of a sentence in row-major order. */
    private float[] logits(Path file) {
        try (LlamaCpp model = LlamaCpp.load(libraries, file, TinyModel.POSITIONS, 1)) {
            int[] ids = model.tokenize(SENTENCE, true, false);
            float[] logits = new float[ids.length * model.vocabularySize()];
            for (int i = 0; i < ids.length; i++) {
                MemorySegment.copy(
                        model.decode(ids[i]),
                        ValueLayout.JAVA_FLOAT,
                        0,
                        logits,
                        i * model.vocabularySize(),
                        model.vocabularySize());
            }
            return logits;
        }
    }

    private static void compare(String name, float[] actual, float[] expected, double tolerance) {
        double squares = 0;
        double errors = 0;
        for (int i = 0; i < expected.length; i++) {
            squares += expected[i] * (double) expected[i];
            errors += Math.pow(actual[i] - expected[i], 2);
        }
        double error = Math.sqrt(errors / squares);
        System.out.printf("%s: logits are off by %.6f of their root mean square%n", name, error);
        require(error < tolerance && error > 0, name + ": " + error + "; expected less than " + tolerance);
    }

    /** Requires, if a published model is present, that it continues a text as in every implementation. */
    private void trained(Path file) throws IOException {
        if (!Files.isRegularFile(file)) {
            System.out.println("SKIPPED: no " + file.toAbsolutePath().normalize());
            return;
        }
        try (LlamaCpp model = LlamaCpp.load(libraries, file, 256, 2)) {
            int[] prompt = model.tokenize("Once upon a time", true, false);
            require(Arrays.equals(prompt, new int[] {1, 403, 407, 261, 378}), Arrays.toString(prompt));
            StringBuilder text = new StringBuilder();
            for (int id : model.greedy(prompt, 40)) {
                text.append(new String(model.piece(id), StandardCharsets.UTF_8));
            }
            System.out.println("stories260K: Once upon a time" + text);
            require(text.toString().startsWith(", there was a little girl named Lily."), text.toString());
            tokens(file, model);
        }
    }

    static void require(boolean right, String message) {
        if (!right) {
            throw new AssertionError(message);
        }
    }
}
