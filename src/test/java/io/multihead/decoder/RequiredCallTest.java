package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.InputFormat;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import io.multihead.compute.Compute;
import io.multihead.grammar.Grammar;
import io.multihead.grammar.TokenConstraint;
import io.multihead.grammar.TokenFilter;
import io.multihead.grammar.TokenMask;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A model with random weights, which knows no format, is required to write calls. Every complete answer consists of calls that are valid
 * against their schemas, with and without control tokens in the vocabulary. Answers are the same alone and in batches.
 */
class RequiredCallTest {
    private static final ToolDefinition PAINT = new ToolDefinition("paint", "", """
            {"type": "object", "properties": {
               "colour": {"enum": ["red", "blue"]}, "count": {"type": "integer", "minimum": 1, "maximum": 99},
               "wet": {"type": "boolean"},
               "spots": {"type": "array", "maxItems": 2, "items": {"type": "object", "properties": {
                 "x": {"type": "integer", "minimum": 0, "maximum": 9}, "at": {"type": "array", "items": {"type": "null"},
                 "maxItems": 1}}, "required": ["x"], "additionalProperties": false}}},
             "required": ["count", "spots"], "additionalProperties": false}
            """);
    private static final ToolDefinition WAIT =
            new ToolDefinition("wait", "", "{\"type\": \"object\", \"properties\": {}}");
    private static final List<ToolDefinition> TOOLS = List.of(PAINT, WAIT);
    private static final int ANSWERS = 10;
    private static final ObjectMapper JSON = new ObjectMapper();

    private static LanguageModel model(Compute cpu, ToolCallFormat format, List<String> controls) {
        return TinyDecoder.model(cpu, 3, controls, 4096).withChatTemplate(AnswerParserTest.template(format));
    }

    private static List<String> controls(ToolCallFormat format) {
        return switch (format) {
            case HERMES, QWEN_3_CODER -> List.of("<tool_call>", "</tool_call>");
            case LLAMA_3 -> List.of("<|python_tag|>");
            case MISTRAL, MISTRAL_ARGS -> List.of("[TOOL_CALLS]", "[ARGS]");
            case PHI_4_MINI -> List.of("<|tool_call|>", "<|/tool_call|>");
            case GRANITE_3 -> List.of("<|tool_call|>");
            case FIREFUNCTION, COGITO -> List.of();
            case NEMOTRON -> List.of("<TOOLCALL>", "</TOOLCALL>");
            case NEMOTRON_MINI -> List.of("<toolcall>", "</toolcall>");
            case COMMAND -> List.of("<|START_ACTION|>", "<|END_ACTION|>", "<|START_RESPONSE|>", "<|START_THINKING|>");
            case LFM_2 -> List.of("<|tool_call_start|>", "<|tool_call_end|>");
            case DEEPSEEK, DEEPSEEK_3_1 ->
                List.of(
                        "<\uff5ctool\u2581calls\u2581begin\uff5c>",
                        "<\uff5ctool\u2581calls\u2581end\uff5c>",
                        "<\uff5ctool\u2581call\u2581begin\uff5c>",
                        "<\uff5ctool\u2581call\u2581end\uff5c>",
                        "<\uff5ctool\u2581sep\uff5c>");
            case GEMMA_4 -> List.of("<|tool_call>", "<tool_call|>", "<|\"|>");
            case FUNCTION_GEMMA -> List.of("<start_function_call>", "<end_function_call>", "<escape>");
            case HARMONY -> List.of("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>");
        };
    }

    private static List<GenerationOptions> options() {
        List<GenerationOptions> options = new ArrayList<>();
        for (int i = 0; i < ANSWERS; i++) {
            Sampling sampling = Sampling.of(0.5 + i / 3.0, i + 1);
            options.add(GenerationOptions.DEFAULT
                    .withMaxTokens(300)
                    .withDraftTokens(i % 3)
                    .withSampling(sampling));
        }
        return options;
    }

    private static Session open(Sessions sessions, int number) {
        ChatPrompt prompt =
                ChatPrompt.of(List.of(ChatMessage.user("Paint " + number))).withTools(TOOLS);
        return sessions.open().appendChat(prompt);
    }

    private static void requireValid(ToolCall call) {
        ToolDefinition tool = TOOLS.stream()
                .filter(each -> each.name().equals(call.name()))
                .findFirst()
                .orElseThrow();
        var validator = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                .getSchema(tool.parameters());
        assertEquals(List.of(), validator.validate(call.arguments(), InputFormat.JSON), call.toString());
    }

    @ParameterizedTest
    @EnumSource
    void everyAnswerThatEndedIsCalls(ToolCallFormat format) throws Exception {
        for (List<String> controls : List.of(List.<String>of(), controls(format))) {
            try (Compute cpu = Compute.threads(2);
                    LanguageModel model = model(cpu, format, controls);
                    Sessions sessions = model.sessions(SessionOptions.DEFAULT.withSessions(2 * ANSWERS))) {
                List<Session> batch = new ArrayList<>();
                List<GenerationOptions> options = new ArrayList<>();
                List<String> alone = new ArrayList<>();
                int ended = 0;
                for (int i = 0; i < ANSWERS; i++) {
                    batch.add(open(sessions, i));
                    AnswerFormat answers = batch.getLast().answerFormat(TOOLS);
                    options.add(answers.requiring(options().get(i)));
                    try (Session session = open(sessions, i)) {
                        GeneratedText text = session.generate(options.getLast());
                        alone.add(text.text());
                        if (text.finish() == FinishReason.END_TOKEN) {
                            ModelAnswer answer = answers.parse(text.text());
                            assertFalse(answer.toolCalls().isEmpty(), text.text());
                            assertEquals("", answer.content(), text.text());
                            answer.toolCalls().forEach(RequiredCallTest::requireValid);
                            ended++;
                        }
                    }
                }
                assertTrue(ended > 1, ended + " answers ended: " + alone);
                List<String> together = sessions.generate(batch, options).stream()
                        .map(GeneratedText::text)
                        .toList();
                assertEquals(alone, together);
            }
        }
    }

    /** Text is free, but text after a mark must be a call. An additional constraint makes random weights write a mark. */
    @ParameterizedTest
    @EnumSource(
            names = {"LLAMA_3", "HARMONY"},
            mode = EnumSource.Mode.EXCLUDE)
    void callsInFreeTextAreValid(ToolCallFormat format) throws Exception {
        String mark = format.syntax().marks().getFirst();
        for (List<String> controls : List.of(List.<String>of(), controls(format))) {
            try (Compute cpu = Compute.threads(2);
                    LanguageModel model = model(cpu, format, controls);
                    Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
                int called = 0;
                for (GenerationOptions each : options()) {
                    try (Session session = open(sessions, 1)) {
                        AnswerFormat answers = session.answerFormat(TOOLS);
                        // the constraint is any text of ten characters followed by the mark
                        Grammar ten =
                                Grammar.ofGbnf("root ::= [a-z <\\[|]{10} mark .*", Map.of(), Map.of("mark", mark));
                        GenerationOptions marked = each.withConstraint(afterMark(ten, mark));
                        GeneratedText text = session.generate(answers.strict(marked));
                        ModelAnswer answer = answers.parse(text.text());
                        if (text.finish() == FinishReason.END_TOKEN) {
                            assertTrue(!answer.toolCalls().isEmpty(), text.text());
                            assertFalse(answer.content().contains(mark), text.text());
                            answer.toolCalls().forEach(RequiredCallTest::requireValid);
                            called++;
                        }
                    }
                }
                assertTrue(called > 1, called + " answers with calls");
                // an answer without a mark is text
                try (Session session = open(sessions, 1)) {
                    AnswerFormat answers = session.answerFormat(TOOLS);
                    GenerationOptions free = answers.strict(GenerationOptions.DEFAULT.withMaxTokens(40));
                    String text = session.generate(free).text();
                    assertEquals(new ModelAnswer("", text, List.of()), answers.parse(text));
                }
            }
        }
    }

    /** Returns a constraint that applies a grammar until the text contains the mark. */
    private static TokenConstraint afterMark(Grammar grammar, String mark) {
        return vocabulary -> {
            TokenFilter filter = grammar.begin(vocabulary);
            return new TokenFilter() {
                private final StringBuilder text = new StringBuilder();

                @Override
                public void restrict(TokenMask allowed) {
                    if (text.indexOf(mark) < 0) {
                        filter.restrict(allowed);
                    }
                }

                @Override
                public void accept(int token) {
                    if (text.indexOf(mark) < 0) {
                        filter.accept(token);
                    }
                    text.append(new String(vocabulary.tokenizer().pieceBytes(token), StandardCharsets.UTF_8));
                }

                @Override
                public void rollBack(int tokens) {
                    throw new UnsupportedOperationException();
                }

                @Override
                public TokenFilter fork() {
                    throw new UnsupportedOperationException();
                }
            };
        };
    }

    @Test
    void aNamedToolIsTheOnlyOneAndIdsAreKept() throws Exception {
        try (Compute cpu = Compute.serial();
                LanguageModel model = model(cpu, ToolCallFormat.HERMES, List.of());
                Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            for (ToolDefinition tool : TOOLS) {
                try (Session session = open(sessions, 1)) {
                    AnswerFormat answers = session.answerFormat(List.of(tool));
                    String text = session.generate(answers.requiring(GenerationOptions.DEFAULT))
                            .text();
                    assertTrue(text.startsWith("<tool_call>\n{\"name\": \"" + tool.name() + "\", "), text);
                }
            }
        }
    }

    /** If the prompt begins a thought, the call follows the thought. */
    @Test
    void aThoughtComesBeforeTheCall() throws Exception {
        try (Compute cpu = Compute.serial();
                LanguageModel any = model(cpu, ToolCallFormat.HERMES, List.of());
                Sessions sessions = any.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open()) {
            session.append(any.tokenizer().encode("assistant\n<think>\n"));
            AnswerFormat answers = session.answerFormat(TOOLS);
            int thoughts = 0;
            for (GenerationOptions options : options()) {
                try (Session fork = session.fork()) {
                    GeneratedText text = fork.generate(answers.requiring(options.withMaxTokens(1200)));
                    ModelAnswer answer = answers.parse(text.text());
                    boolean ended = text.finish() == FinishReason.END_TOKEN;
                    assertEquals(ended, !answer.toolCalls().isEmpty(), text.text());
                    assertEquals("", ended ? answer.content() : "", text.text());
                    thoughts += answer.reasoning().isEmpty() ? 0 : 1;
                }
            }
            assertTrue(thoughts > ANSWERS / 2, thoughts + " thoughts");
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"HERMES", "QWEN_3_CODER", "FUNCTION_GEMMA", "GEMMA_4", "COMMAND", "DEEPSEEK"})
    void whatAGrammarCannotWriteIsRefusedByName(ToolCallFormat format) throws Exception {
        String unknown = "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\", \"not\": {}}}}";
        ToolDefinition tool = new ToolDefinition("odd one", "", unknown);
        try (Compute cpu = Compute.serial();
                LanguageModel model = model(cpu, format, List.of());
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = open(sessions, 1)) {
            AnswerFormat answers = session.answerFormat(List.of(tool));
            String message = assertThrows(
                            IllegalArgumentException.class, () -> answers.requiring(GenerationOptions.DEFAULT))
                    .getMessage();
            assertTrue(message.startsWith("tools") && message.contains("odd") && message.contains("not"), message);
        }
    }

    @Test
    void theErrorOfASchemaNamesTheToolAndThePointer() throws Exception {
        ToolDefinition good = new ToolDefinition("good", "", "{\"type\": \"object\", \"properties\": {}}");
        String none =
                "{\"type\": \"object\", \"properties\": {\"a\": {\"minLength\": 3, \"maxLength\": 1, \"type\": \"string\"}},"
                        + " \"required\": [\"a\"]}";
        ToolDefinition bad = new ToolDefinition("odd", "", none);
        try (Compute cpu = Compute.serial();
                LanguageModel model = model(cpu, ToolCallFormat.HERMES, List.of());
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = open(sessions, 1)) {
            AnswerFormat answers = session.answerFormat(List.of(good, bad));
            String message = assertThrows(
                            IllegalArgumentException.class, () -> answers.requiring(GenerationOptions.DEFAULT))
                    .getMessage();
            assertTrue(message.startsWith("tools.odd.parameters: #/properties/a: no value conforms"), message);
            AnswerFormat valid = session.answerFormat(List.of(good));
            String ofAnswer = assertThrows(
                            IllegalArgumentException.class, () -> valid.json(GenerationOptions.DEFAULT, none))
                    .getMessage();
            assertTrue(ofAnswer.startsWith("schema: #/properties/a: no value conforms"), ofAnswer);
        }
    }

    /** Strings may contain the marks of a format, except the marks that end them. */
    @ParameterizedTest
    @EnumSource
    void stringsMayHaveTheMarks(ToolCallFormat format) throws Exception {
        List<String> marks = new ArrayList<>(controls(format));
        marks.addAll(format.syntax().marks());
        marks.addAll(List.of(
                "</tool_call>",
                "</function>",
                "<parameter=b>",
                "\"}]",
                "'",
                "<|end|>",
                "<|call|>",
                "}<|tool_call_end|>"));
        marks.removeAll(List.of("<|\"|>", "<escape>"));
        String schema = "{\"type\": \"object\", \"properties\": {\"a\": {\"const\": %s}, \"c\": {\"const\": [%s]}}, "
                + "\"required\": [\"a\", \"c\"], \"additionalProperties\": false}";
        String text = JSON.writeValueAsString(String.join("\\y", marks));
        ToolDefinition tool = new ToolDefinition("f", "", schema.formatted(text, text));
        for (List<String> controls : List.of(List.<String>of(), controls(format))) {
            try (Compute cpu = Compute.serial();
                    LanguageModel model = model(cpu, format, controls);
                    Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                    Session session = sessions.open()) {
                session.appendChat(ChatPrompt.of(List.of(ChatMessage.user("?"))).withTools(List.of(tool)));
                AnswerFormat answers = session.answerFormat(List.of(tool));
                GenerationOptions options = answers.requiring(GenerationOptions.DEFAULT.withMaxTokens(1500));
                String made = "";
                // several seeds are tried, because a thought may come first, which random weights do not end
                for (int seed = 1; made.isEmpty() && seed < 20; seed++) {
                    try (Session fork = session.fork()) {
                        GeneratedText each = fork.generate(options.withSampling(Sampling.of(2, seed)));
                        made = each.finish() == FinishReason.END_TOKEN ? each.text() : "";
                    }
                }
                ToolCall call = answers.parse(made).toolCalls().getFirst();
                String expected = "{\"a\":%s,\"c\":[%s]}".formatted(text, text);
                assertEquals(JSON.readTree(expected), JSON.readTree(call.arguments()), made);
            }
        }
    }

    /** Arguments are an object even if the schema allows other values. */
    @ParameterizedTest
    @EnumSource(names = {"HERMES", "MISTRAL_ARGS", "GEMMA_4"})
    void argumentsAreAnObject(ToolCallFormat format) throws Exception {
        String properties =
                "\"maxProperties\": 1, \"properties\": {\"a\": {\"const\": 1e400}}, \"additionalProperties\": false";
        try (Compute cpu = Compute.serial();
                LanguageModel model = model(cpu, format, List.of());
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = open(sessions, 1)) {
            for (String type : List.of("", "\"type\": [\"null\", \"object\"], ")) {
                int all = 0;
                ToolDefinition tool = new ToolDefinition("f", "", "{" + type + properties + "}");
                AnswerFormat answers = session.answerFormat(List.of(tool));
                for (int seed = 1; seed < ANSWERS; seed++) {
                    Sampling random = Sampling.of(3, seed);
                    GenerationOptions options = answers.requiring(
                            GenerationOptions.DEFAULT.withMaxTokens(300).withSampling(random));
                    try (Session fork = session.fork()) {
                        GeneratedText text = fork.generate(options);
                        boolean ended = text.finish() == FinishReason.END_TOKEN;
                        assertEquals(
                                ended, !answers.parse(text.text()).toolCalls().isEmpty(), text.text());
                        all += ended ? 1 : 0;
                    }
                }
                assertTrue(all > 0, "no text ended");
            }
            AnswerFormat text = session.answerFormat(List.of(new ToolDefinition("f", "", "{\"type\": \"string\"}")));
            String message = assertThrows(
                            IllegalArgumentException.class, () -> text.requiring(GenerationOptions.DEFAULT))
                    .getMessage();
            assertTrue(message.contains("tools.f.parameters.type: string; expected object"), message);
        }
    }

    @Test
    void namesThatPythonHasNotAreRefused() {
        requireRefused(ToolCallFormat.LFM_2, new ToolDefinition("odd one", "", "{}"), "tools.odd one");
        String schema = "{\"type\": \"object\", \"properties\": {\"odd one\": {\"type\": \"string\"}}}";
        requireRefused(
                ToolCallFormat.LFM_2,
                new ToolDefinition("f", "", schema),
                "tools.f.parameters.properties.odd one: a name \"odd one\"; expected");
    }

    /**
     * In formats that write names without quotes, an error reports a name that a parser would not read back. Other formats accept any name.
     */
    @ParameterizedTest
    @EnumSource
    void namesThatNoReaderReadsAreRefused(ToolCallFormat format) {
        List<String> odd =
                switch (format) {
                    case LFM_2 -> List.of("", " f", "f(", "f g");
                    case QWEN_3_CODER -> List.of("", " f", "f>", "f\ng");
                    case GEMMA_4 -> List.of("", "f ", "f{", "f<|\"|>", "<tool_call|>");
                    case FUNCTION_GEMMA -> List.of("", "f ", "f{", "f<escape>", "<end_function_call>");
                    case DEEPSEEK, DEEPSEEK_3_1 -> List.of("", "f ", "f<", "f\ng", "f{\"");
                    case MISTRAL_ARGS -> List.of("", "f ", "f[ARGS]", "[CALL_ID]f");
                    case HARMONY -> List.of("", "f ", "f g", "f<", "f\n");
                    default -> List.of();
                };
        for (String name : odd) {
            ToolDefinition tool = new ToolDefinition(name, "", "{}");
            requireRefused(
                    format, tool, "tools." + name + ": a name \"" + name + "\"; expected one or more characters [");
        }
        CallGrammars grammars = new CallGrammars(() -> AnswerParserTest.template(format));
        for (String name : odd.isEmpty() ? List.of("f{<[ \n\"") : List.of("f", "a_b-c")) {
            AnswerFormat.of(grammars, List.of(new ToolDefinition(name, "", "{}")), "", 1)
                    .requiring(GenerationOptions.DEFAULT);
        }
    }

    private static void requireRefused(ToolCallFormat format, ToolDefinition tool, String part) {
        CallGrammars grammars = new CallGrammars(() -> AnswerParserTest.template(format));
        AnswerFormat answers = AnswerFormat.of(grammars, List.of(WAIT, tool), "", 1);
        String message = assertThrows(
                        IllegalArgumentException.class, () -> answers.requiring(GenerationOptions.DEFAULT))
                .getMessage();
        assertTrue(message.contains(part), message);
    }

    @Test
    void valuesOfATextThatAreNoTextsAreNone() {
        String schema = "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\", \"enum\": %s}}}";
        CallGrammars grammars = new CallGrammars(() -> AnswerParserTest.template(ToolCallFormat.QWEN_3_CODER));
        ToolDefinition some = new ToolDefinition("f", "", schema.formatted("[\"x\", 1, null]"));
        AnswerFormat.of(grammars, List.of(some), "", 1).requiring(GenerationOptions.DEFAULT);
        ToolDefinition none = new ToolDefinition("f", "", schema.formatted("[1, null]"));
        AnswerFormat answers = AnswerFormat.of(grammars, List.of(none), "", 1);
        assertTrue(assertThrows(IllegalArgumentException.class, () -> answers.requiring(GenerationOptions.DEFAULT))
                .getMessage()
                .contains("tools.f.parameters.properties.a: [1, null]; expected a text of its type"));
        ToolDefinition marked = new ToolDefinition("f", "", schema.formatted("[\"x</parameter>\"]"));
        AnswerFormat ofMarked = AnswerFormat.of(grammars, List.of(marked), "", 1);
        assertTrue(assertThrows(IllegalArgumentException.class, () -> ofMarked.requiring(GenerationOptions.DEFAULT))
                .getMessage()
                .contains("tools.f.parameters.properties.a: [x</parameter>]; expected a text"));
    }
}
