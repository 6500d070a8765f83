package io.multihead.fuzz;

import io.multihead.cache.CacheSession;
import io.multihead.cache.KeyValueCache;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.format.Safetensors;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;

/** Writes the seeds of every target that reads files: {@code .ci/fuzz seeds}. */
public final class Seeds {
    private static final Compute CPU = Compute.serial();
    private final Path corpus;

    private Seeds(Path corpus) {
        this.corpus = corpus;
    }

    public static void main(String[] arguments) throws IOException {
        Seeds seeds = new Seeds(Path.of(arguments[0]));
        seeds.safetensors();
        seeds.gguf();
        seeds.write("OnnxFuzz", "model", SmallModel.onnx());
        seeds.tokenizer();
        seeds.text();
        seeds.encoder();
        seeds.packedEncoder();
        seeds.decoder();
        seeds.grammars();
        seeds.requests();
        seeds.sessions();
        seeds.packedWeights();
        seeds.random("AttentionFuzz", 48);
        seeds.random("CacheCallsFuzz", 300);
    }

    private void safetensors() throws IOException {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        for (DType dtype : DType.values()) {
            tensors.put(dtype.name(), Tensor.allocate(Arena.ofAuto(), dtype, Shape.of(2, 3)));
        }
        tensors.put("empty", Tensor.of(new float[0], 0, 5));
        write("SafetensorsFuzz", "types", Framed.input(SmallModel.safetensors(tensors, Map.of("a", "b \u00e9"))));
        write("SafetensorsFuzz", "whole", SmallModel.safetensors(Map.of("x", Tensor.of(new float[3], 3)), Map.of()));
        String integers = "{\"i\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
                + "\"b\":{\"dtype\":\"BOOL\",\"shape\":[1,1],\"data_offsets\":[8,9]}}";
        write("SafetensorsFuzz", "integers", join(integers, new byte[1 + 9]));
    }

    /**
     * Writes seeds with metadata of every type, with tensors of every readable type, and with one file of a model in
     * two files.
     */
    private void gguf() throws IOException {
        GgufWriter values = new GgufWriter();
        for (GgufType type : GgufType.values()) {
            if (type.isInteger()) {
                values.put(type.name(), GgufValue.ofInteger(type, 100));
                values.put("a." + type.name(), GgufValue.ofIntegers(type, 1, 2));
            }
        }
        gguf(
                "values",
                values.put("general.alignment", GgufValue.ofInteger(GgufType.U32, 64))
                        .put("f", GgufValue.ofF32(1.5f))
                        .put("d", GgufValue.ofF64(0.1))
                        .put("b", GgufValue.ofBool(true))
                        .put("s", GgufValue.ofString("h\u00e9"))
                        .put("t", GgufValue.ofStrings(List.of("a", "", "\u2581b")))
                        .put("n", GgufValue.ofValues(GgufType.ARRAY, List.of(GgufValue.ofFloats(1, 2))))
                        .tensor("x", Tensor.of(new float[6], 2, 3)));
        GgufWriter tensors = new GgufWriter();
        for (DType dtype : DType.values()) {
            tensors.tensor(dtype.name(), Tensor.allocate(Arena.ofAuto(), dtype, Shape.of(2, 3)));
        }
        for (BlockType type : BlockType.values()) {
            Tensor weights = Tensor.of(new float[2 * type.elements()], 2, type.elements());
            weights.fill(0.5);
            tensors.blocks(type.name(), BlockTensor.quantize(Arena.ofAuto(), weights, type));
        }
        gguf("tensors", tensors);
        gguf(
                "split",
                new GgufWriter()
                        .put("split.no", GgufValue.ofInteger(GgufType.U16, 0))
                        .put("split.count", GgufValue.ofInteger(GgufType.U16, 2))
                        .put("split.tensors.count", GgufValue.ofInteger(GgufType.I32, 1))
                        .tensor("x", Tensor.of(new float[1])));
    }

    private void gguf(String name, GgufWriter writer) throws IOException {
        Path file = Scratch.folder("seed").resolve("model.gguf");
        writer.write(file);
        write("GgufFuzz", name, Files.readAllBytes(file));
    }

    private void tokenizer() throws IOException {
        write("TokenizerFilesFuzz", "tokenizer-json", join("0", SmallModel.tokenizerJson()));
        String processing = new String(SmallModel.tokenizerJson(), StandardCharsets.UTF_8)
                .replaceAll(
                        "\"post_processor\": (?s:.*?)]},\\s",
                        "\"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 3], \"cls\": [\"[CLS]\", 2]},\n");
        write("TokenizerFilesFuzz", "bert-processing", join("0", processing.getBytes(StandardCharsets.UTF_8)));
        write("TokenizerFilesFuzz", "vocab-txt", join("1", SmallModel.vocabularyTxt()));
        write("TokenizerFilesFuzz", "tokenizer-config", join("2", SmallModel.tokenizerConfig()));
    }

    private void text() throws IOException {
        write(
                "TextFuzz",
                "words",
                "ab [MASK] Ab#c, cafe\u0301 \u4e00\u4e8c \u0130\ud83d\ude00 abcabc!".getBytes(StandardCharsets.UTF_8));
        write("TextFuzz", "long-word", "ab".repeat(60).getBytes(StandardCharsets.UTF_8));
    }

    private void encoder() throws IOException {
        folder("EncoderFilesFuzz", EncoderFilesFuzz.NAMES, SmallModel.files());
        folder("RerankerFilesFuzz", RerankerFilesFuzz.NAMES, SmallModel.rerankerFiles());
        folder("TokenEncoderFilesFuzz", TokenEncoderFilesFuzz.NAMES, SmallModel.tokenEncoderFiles());
    }

    private void folder(String target, List<String> names, Map<String, byte[]> files) throws IOException {
        for (int i = 0; i < names.size(); i++) {
            byte[] file = files.get(names.get(i));
            String name = names.get(i).replace('/', '-');
            write(target, name, join(String.valueOf(i), name.endsWith(".safetensors") ? Framed.input(file) : file));
        }
    }

    private void decoder() throws IOException {
        write("DecoderGgufFuzz", "f32", SmallDecoder.gguf(null));
        write("DecoderGgufFuzz", "q8-0", SmallDecoder.gguf(BlockType.Q8_0));
        folder("DecoderFolderFuzz", DecoderFolderFuzz.NAMES, SmallDecoder.files());
    }

    private void grammars() throws IOException {
        grammar("object", """
                0{"$defs": {"n": {"type": ["integer", "null"], "minimum": -5, "maximum": 120}}, "type": "object", "properties":
                 {"a": {"$ref": "#/$defs/n"}, "b": {"type": "array", "items": {"enum": ["x", 1, true]}, "minItems": 1, "maxItems": 3}},
                 "required": ["a"], "additionalProperties": false}""");
        grammar("strings", """
                0{"anyOf": [{"type": "string", "pattern": "^[a-f]{2,4}(-\\\\d+)?$"}, {"type": "string", "minLength": 1, "maxLength": 3},
                 {"type": "string", "format": "date"}, {"const": {"a": [null]}}]}""");
        grammar("recursion", """
                0{"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}, "x": {"type": "number"}}}""");
        grammar("gbnf", """
                1root ::= "1. " move " " [a-h]{2,3} ("x" | "y"? "z"+)* # text
                move ::= [^\\x00-\\x1f\\"]* "\\u4e2d" .
                """);
        grammar("gbnf-recursion", "1root ::= item (\",\" item)*\nitem ::= \"(\" root \")\" | [0-9]+ | \"\"\n");
    }

    private void grammar(String name, String text) throws IOException {
        write("GrammarFuzz", name, text.getBytes(StandardCharsets.UTF_8));
    }

    private void requests() throws IOException {
        request("chat", """
                0{"model": "m", "messages": [{"role": "system", "content": "a"}, {"role": "user", "content": [{"type": "text", "text": "b"}]}],
                 "temperature": 0.5, "top_p": 0.9, "seed": 3, "max_tokens": 2, "stop": ["x", "y"], "n": 2, "logprobs": true,
                 "logit_bias": {"5": 2}, "presence_penalty": 1, "chat_template_kwargs": {"t": true}}""");
        request("format", """
                0{"messages": [{"role": "user", "content": "a"}], "max_completion_tokens": 3, "response_format": {"type": "json_schema",
                 "json_schema": {"name": "s", "strict": true, "schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}}}""");
        request("tools", """
                0{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "1",
                 "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "b"}],
                 "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
                 "tool_choice": "none", "max_tokens": 2}""");
        request("prompt", "1{\"prompt\": \"ab\", \"max_tokens\": 2, \"stop\": \"b\", \"top_k\": 4, \"min_p\": 0.1}");
        request("tokenize", "2{\"content\": \"a b\"}");
    }

    private void request(String name, String text) throws IOException {
        write("RequestFuzz", name, text.getBytes(StandardCharsets.UTF_8));
    }

    private void packedEncoder() throws IOException {
        Path folder = Scratch.folder("seed-encoder");
        SmallModel.files().forEach((name, bytes) -> Scratch.write(folder.resolve(name), bytes));
        Path file = folder.resolve("packed");
        try (SentenceEncoder encoder = SentenceEncoder.load(CPU, folder)) {
            encoder.write(file);
        }
        write("PackedEncoderFuzz", "model", Framed.input(Files.readAllBytes(file)));
    }

    /**
     * Writes seeds with sequences that share tokens, sequences that dropped tokens, and an empty sequence, for each
     * kind of cache.
     */
    private void sessions() throws IOException {
        for (Config config : CacheSessionFuzz.CONFIGS) {
            KeyValueCache cache = KeyValueCache.paged(config, 1 << 16);
            int first = cache.open();
            append(cache, first, 70);
            int fork = cache.fork(first);
            append(cache, fork, 5);
            cache.slide(fork, 66);
            int empty = cache.open();
            session(cache, config.format().dtype() + "-shared", first, fork, empty);
            session(cache, config.format().dtype() + "-empty", empty);
        }
    }

    private void session(KeyValueCache cache, String name, int... sequences) throws IOException {
        Path file = corpus.resolve("CacheSessionFuzz").resolve(name.toLowerCase(Locale.ROOT));
        Files.createDirectories(file.getParent());
        CacheSession.save(CPU, cache, file, sequences);
        Files.write(file, Framed.input(withoutChecksums(Files.readAllBytes(file))));
    }

    /**
     * Returns a session in the version without checksums. With checksums, a mutated file is refused before other bytes
     * are read.
     */
    private static byte[] withoutChecksums(byte[] session) {
        Safetensors file = Safetensors.parse(MemorySegment.ofArray(session));
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        file.names().forEach(name -> tensors.put(name, file.get(name)));
        tensors.remove("checksums");
        Map<String, String> metadata = new LinkedHashMap<>(file.metadata());
        metadata.put("format", "multihead cache session 3");
        return SmallModel.safetensors(tensors, metadata);
    }

    /** Writes seeds with one element, with several panels and depth blocks, and without elements. */
    private void packedWeights() throws IOException {
        for (int[] sizes : new int[][] {{1, 1}, {3, 40}, {257, 1}, {0, 5}, {5, 0}}) {
            byte[] file = packed(sizes[0], sizes[1]);
            write("PackedWeightsFuzz", sizes[0] + "x" + sizes[1], PackedWeightsFuzz.input(file, 60));
        }
        write("PackedWeightsFuzz", "whole", join("0", packed(1, 1)));
        for (WeightFormat format : WeightFormat.values()) {
            byte[] file = packed(format, 256, 33);
            write("PackedWeightsFuzz", format.name().toLowerCase(Locale.ROOT), PackedWeightsFuzz.input(file, 60));
        }
    }

    private byte[] packed(int inputs, int outputs) throws IOException {
        return packed(WeightFormat.F32, inputs, outputs);
    }

    private byte[] packed(WeightFormat format, int inputs, int outputs) throws IOException {
        Path file = Scratch.folder("seed").resolve("weights");
        try (Arena arena = Arena.ofConfined()) {
            PackedWeights.ofInputRows(arena, ramp(1, inputs, outputs).reshape(inputs, outputs), format)
                    .write(file);
        }
        return Files.readAllBytes(file);
    }

    private static void append(KeyValueCache cache, int sequence, int tokens) {
        Config config = cache.config();
        for (int layer = 0; layer < config.layers(); layer++) {
            cache.append(
                    CPU,
                    layer,
                    sequence,
                    ramp(config.heads(), tokens, config.headDim()),
                    ramp(config.heads(), tokens, config.valueDim()));
        }
    }

    private static Tensor ramp(int heads, int tokens, int dim) {
        float[] values = new float[heads * tokens * dim];
        for (int i = 0; i < values.length; i++) {
            values[i] = i % 7 - 3;
        }
        return Tensor.of(values, 1, heads, tokens, dim);
    }

    /** Writes random bytes as seeds of the targets that draw calls from them. */
    private void random(String target, int length) throws IOException {
        for (int seed = 0; seed < 8; seed++) {
            byte[] bytes = new byte[length];
            new SplittableRandom(seed).nextBytes(bytes);
            write(target, "random-" + seed, bytes);
        }
    }

    private void write(String target, String name, byte[] bytes) throws IOException {
        Path file = corpus.resolve(target).resolve(name);
        Files.createDirectories(file.getParent());
        Files.write(file, bytes);
    }

    private static byte[] join(String first, byte[] then) {
        return join(first.getBytes(StandardCharsets.UTF_8), then);
    }

    private static byte[] join(byte[] first, byte[] then) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.writeBytes(first);
        all.writeBytes(then);
        return all.toByteArray();
    }
}
