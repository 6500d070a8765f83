package io.multihead.decoder;

import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** Small models for tests of other packages. */
public final class FamilyModel {
    /** A chat template like the one of Hermes: tools come first, and calls are between marks. */
    public static final String TOOL_TEMPLATE = """
            {%- for tool in tools or [] %}{{ tool | tojson }}{% endfor %}
            {%- for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}{{ message.content or '' }}
            {%- for call in message.tool_calls or [] %}
            {{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
            {{- call.function.arguments | tojson }}{{- '}\\n</tool_call>' }}
            {%- endfor %}{{ '<|im_end|>\\n' }}{% endfor %}
            {%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""";

    /** A chat template that writes only the texts of messages. */
    public static final String PLAIN_TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}";

    private FamilyModel() {}

    /** Returns the names of the families. */
    public static List<String> kinds() {
        Stream<String> kinds = Arrays.stream(Kind.values()).map(Kind::name);
        return Stream.concat(kinds, Stream.of(Gemma4File.NAME, Gemma4File.LARGE))
                .toList();
    }

    /** Writes a model of a family with random weights. */
    public static void write(String kind, Path file) throws IOException {
        if (kind.equals(Gemma4File.NAME) || kind.equals(Gemma4File.LARGE)) {
            new Gemma4File(5, 1, kind.equals(Gemma4File.LARGE)).write(file);
        } else {
            new FamilyFile(Kind.valueOf(kind), 5).write(file);
        }
    }

    /** Writes a Llama model with random weights, whose tokens are bytes. */
    public static void write(Path file) throws IOException {
        new FamilyFile(Kind.LLAMA, 3).write(file);
    }

    /** Writes the Llama model with a chat template. The tokenizer has the control tokens of ChatML. */
    public static void writeChat(Path file, String template) throws IOException {
        new FamilyFile(Kind.LLAMA, 3).writeChat(file, template);
    }

    /** Writes the Llama model with a chat template and this context length. */
    public static void writeChat(Path file, String template, int context) throws IOException {
        new FamilyFile(Kind.LLAMA, 3).withContext(context).writeChat(file, template);
    }

    /** Writes the Llama model with a chat template and a tokenizer that adds no BOS token. */
    public static void writeWithoutBegin(Path file, String template) throws IOException {
        FamilyFile llama = new FamilyFile(Kind.LLAMA, 3);
        GgufWriter writer = llama.metadata()
                .put("tokenizer.ggml.add_bos_token", GgufValue.ofBool(false))
                .put("tokenizer.chat_template", GgufValue.ofString(template));
        Stream.concat(llama.matrices().stream(), llama.others().stream())
                .forEach(name -> writer.tensor(name, llama.tensor(name)));
        writer.write(file);
    }

    /**
     * Writes a file with quantized matrices, whose types alternate, and sets the weights of the specification to the values of the blocks.
     */
    static void writeQuantized(FamilyFile file, Path path, BlockType... types) throws IOException {
        AtomicInteger count = new AtomicInteger();
        try (Arena arena = Arena.ofConfined()) {
            GgufWriter writer = file.metadata();
            file.matrices().forEach(name -> {
                BlockType blocks = types[count.getAndIncrement() % types.length];
                BlockTensor quantized = BlockTensor.quantize(arena, file.tensor(name), blocks);
                Tensor wide = Tensor.allocate(arena, DType.F32, quantized.shape());
                quantized.dequantize(wide);
                file.replace(name, wide);
                writer.blocks(name, quantized);
            });
            file.others().forEach(name -> writer.tensor(name, file.tensor(name)));
            writer.write(path);
        }
    }

    /** Writes a Qwen 3 model with random weights, tokens for yes and no, and this context length. */
    public static void writeAnswers(Path file, int context) throws IOException {
        new FamilyFile(Kind.QWEN_3, 3).withAnswers().withContext(context).write(file);
    }

    /** Writes a Qwen 3 model as a folder of sentence-transformers with prompts. */
    public static void writePrompts(Path folder, String prompts) throws IOException {
        new FamilyFile(Kind.QWEN_3, 3).writeFolder(folder, BytePieces.tokenizerJson());
        Files.createDirectories(folder.resolve("1_Pooling"));
        Files.writeString(folder.resolve("1_Pooling/config.json"), "{\"pooling_mode\": \"lasttoken\"}");
        Files.writeString(folder.resolve("modules.json"), """
                [{"path": "", "type": "sentence_transformers.models.Transformer"},
                 {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]
                """);
        Files.writeString(folder.resolve("config_sentence_transformers.json"), "{\"prompts\": " + prompts + "}");
    }
}
