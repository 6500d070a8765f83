package io.multihead.demo.serve;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import io.multihead.decoder.AnswerFormat;
import io.multihead.decoder.AnswerListener;
import io.multihead.decoder.AnswerParser;
import io.multihead.decoder.FinishReason;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GeneratedToken;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.ModelAnswer;
import io.multihead.decoder.Session;
import io.multihead.decoder.Sessions;
import io.multihead.decoder.ToolCall;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Texts of a language model: {@code /v1/chat/completions} and {@code /v1/completions}. Thread-safe. */
final class TextApi {
    private static final String CHUNK = "chat.completion.chunk";
    private static final int MOST_ALTERNATIVES = 20;
    private static final int MOST_PROMPTS = 64;

    private final String name;
    private final LanguageModel model;
    private final Sessions sessions;
    private final Room room;
    private final Metrics metrics;
    private final Duration timeout;
    private final TokenProbabilities probabilities;

    TextApi(String name, LanguageModel model, Sessions sessions, Room room, Metrics metrics, Duration timeout) {
        this.name = name;
        this.model = model;
        this.sessions = sessions;
        this.room = room;
        this.metrics = metrics;
        this.timeout = timeout;
        probabilities = new TokenProbabilities(model.tokenizer());
    }

    Sessions sessions() {
        return sessions;
    }

    /**
     * One request.
     *
     * @param id of the answer
     * @param chat its messages, or null if a prompt is continued
     * @param prompts the texts to continue, or one empty text for a chat
     * @param fields the options of generation
     * @param tokenIds whether the answer has the ids of tokens, as in vLLM
     * @param created the time in seconds since 1970
     */
    private record Call(
            String id,
            @Nullable ChatFields chat,
            List<String> prompts,
            GenerationFields fields,
            boolean tokenIds,
            long created) {
        Call(String id, @Nullable ChatFields chat, List<String> prompts, GenerationFields fields, boolean tokenIds) {
            this(id, chat, prompts, fields, tokenIds, Instant.now().getEpochSecond());
        }

        void append(Session session, String prompt) {
            if (chat != null) {
                session.appendChat(chat.prompt());
            } else if (session.append(prompt).length() == 0) {
                throw ApiException.wrong("prompt", "\"" + prompt + "\" has no tokens; expected at least one");
            }
        }

        boolean logProbabilities() {
            return fields.options().logProbabilities();
        }

        String object(String ofChat) {
            return chat == null ? "text_completion" : ofChat;
        }
    }

    /** A text after the tokens of its prompt, and the parts that a chat finds in it. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Written(
            int[] prompt, GeneratedText text, @Nullable ModelAnswer answer) {
        String finish() {
            return switch (text.finish()) {
                case END_TOKEN, STOP_SEQUENCE, CANCELLED ->
                    answer == null || answer.toolCalls().isEmpty() ? "stop" : "tool_calls";
                case MAX_TOKENS, CONTEXT_FULL, TIMEOUT -> "length";
            };
        }
    }

    /** Answers a chat. Returns the answer, or null if it was streamed. */
    @Nullable
    JsonNode chat(Fields fields, HttpExchange exchange) throws IOException, InterruptedException {
        ApiException.requireModel(fields, name);
        requireTemplate();
        ChatFields chat = ChatFields.of(fields);
        boolean logProbabilities = fields.flag("logprobs", false);
        int mostProbable = (int) fields.integer("top_logprobs", 0, MOST_ALTERNATIVES, 0);
        if (mostProbable > 0 && !logProbabilities) {
            throw fields.wrong("top_logprobs", mostProbable + " without logprobs; expected logprobs to be true");
        }
        GenerationFields generation = generation(fields)
                .withMostProbable(logProbabilities ? mostProbable : GenerationOptions.NO_PROBABILITIES);
        boolean tokenIds = fields.flag("return_token_ids", false);
        fields.without("user", "metadata", "safety_identifier", "prompt_cache_key")
                .end();
        return answer(new Call("chatcmpl-" + UUID.randomUUID(), chat, List.of(""), generation, tokenIds), exchange);
    }

    /** Continues a prompt. Returns the answer, or null if it was streamed. */
    @Nullable
    JsonNode completion(Fields fields, HttpExchange exchange) throws IOException, InterruptedException {
        ApiException.requireModel(fields, name);
        fields.require("prompt");
        List<String> prompts = fields.texts("prompt", MOST_PROMPTS);
        if (prompts.isEmpty()) {
            throw fields.wrong("prompt", "is empty");
        }
        if (fields.flag("echo", false)) {
            throw fields.wrong("echo", "is not supported");
        }
        long mostProbable = fields.integer("logprobs", 0, MOST_ALTERNATIVES, GenerationOptions.NO_PROBABILITIES);
        GenerationFields generation = generation(fields).withMostProbable((int) mostProbable);
        boolean tokenIds = fields.flag("return_token_ids", false);
        fields.without("user").end();
        return answer(new Call("cmpl-" + UUID.randomUUID(), null, prompts, generation, tokenIds), exchange);
    }

    /** Returns the ids of a text. */
    JsonNode tokenize(Fields fields) {
        String content = fields.text("content");
        fields.end();
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        ArrayNode ids = root.putArray("tokens");
        for (int id : model.tokenizer().encode(content)) {
            ids.add(id);
        }
        return root;
    }

    private GenerationFields generation(Fields fields) {
        return GenerationFields.of(
                fields, sessions.contextTokens(), timeout, model.tokenizer().vocabularySize());
    }

    private void requireTemplate() {
        try {
            model.chatTemplate();
        } catch (IllegalArgumentException none) {
            throw ApiException.wrong(400, none.getMessage() + "; /v1/completions continues texts");
        }
    }

    private @Nullable JsonNode answer(Call call, HttpExchange exchange) throws IOException, InterruptedException {
        List<Written> texts = new ArrayList<>();
        List<Session> opened = new ArrayList<>();
        EventStream events = null;
        RuntimeException failure = null;
        room.enter();
        try {
            for (String prompt : call.prompts) { // a wrong prompt fails before the answer begins
                opened.add(sessions.open());
                call.append(opened.getLast(), prompt);
            }
            options(call, opened.getFirst(), 0); // a schema without a grammar also fails here
            events = call.fields.streams() ? new EventStream(exchange) : null;
            for (Session session : opened) {
                texts.addAll(texts(call, session, texts.size(), events));
            }
        } catch (RuntimeException failed) {
            if (events == null) {
                throw failed;
            }
            failure = failed;
        } finally {
            opened.forEach(Session::close);
            room.leave();
        }
        if (events != null) {
            if (failure != null) {
                events.send(HttpApi.error(failure).json().toString());
            } else if (call.fields.streamsUsage()) {
                ObjectNode last = head(call, call.object(CHUNK));
                last.putArray("choices");
                usage(last, call, texts);
                events.send(last.toString());
            }
            boolean read = events.end();
            metrics.request(exchange.getRequestURI().getPath(), read ? 200 : Metrics.CLIENT_LEFT);
            return null;
        }
        ObjectNode root = head(call, call.object("chat.completion"));
        ArrayNode choices = root.putArray("choices");
        for (int i = 0; i < texts.size(); i++) {
            choices.add(choice(call, i, texts.get(i)));
        }
        usage(root, call, texts);
        return root;
    }

    /**
     * Generates all texts of a prompt at the same time. {@code firstIndex} is the index of the first text in the
     * answer.
     */
    private List<Written> texts(Call call, Session first, int firstIndex, @Nullable EventStream events)
            throws InterruptedException {
        int count = call.fields.texts();
        if (count == 1) {
            return List.of(text(call, first, firstIndex, events));
        }
        List<Session> forks = new ArrayList<>();
        List<Written> texts = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Written>> running = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int index = firstIndex + i;
                Session fork = first.fork();
                forks.add(fork);
                running.add(threads.submit(() -> text(call, fork, index, events)));
            }
            for (Future<Written> each : running) {
                texts.add(each.get());
            }
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof RuntimeException own
                    ? own
                    : new IllegalStateException(failed.getCause());
        } finally {
            forks.forEach(Session::close);
        }
        return texts;
    }

    private static GenerationOptions options(Call call, Session session, int index) {
        GenerationOptions options = call.fields.options(index % call.fields.texts());
        if (call.chat == null) {
            return options;
        }
        AnswerFormat format = session.answerFormat(call.chat.callable());
        return call.chat.required() ? format.requiring(options) : format.options(options);
    }

    private Written text(Call call, Session session, int index, @Nullable EventStream events) {
        GenerationOptions options = options(call, session, index);
        int[] prompt = call.tokenIds ? session.tokens() : new int[0];
        AnswerParser parser = null;
        if (call.chat != null) {
            AnswerFormat format = session.answerFormat(call.chat.callable());
            parser = format.parser(new AnswerEvents(this, call, index, events));
        }
        if (events != null && (call.chat != null || call.tokenIds)) {
            events.send(first(call, index, prompt));
        }
        GeneratedText text = generate(call, session, options, index, parser, events);
        Written written = new Written(prompt, text, parser == null ? null : parser.end());
        if (events != null) {
            events.send(chunk(call, index, delta -> {}, written.finish()));
        }
        return written;
    }

    private GeneratedText generate(
            Call call,
            Session session,
            GenerationOptions options,
            int index,
            @Nullable AnswerParser parser,
            @Nullable EventStream events) {
        long start = System.nanoTime();
        long[] first = {0};
        GeneratedText text = session.generate(options, token -> {
            if (first[0] == 0) {
                first[0] = System.nanoTime();
                metrics.firstToken((first[0] - start) * 1e-9);
            }
            if (parser != null) {
                parser.add(token.text());
            }
            return events == null || events.send(event(call, index, token));
        });
        if (text.finish() == FinishReason.TIMEOUT) {
            throw ApiException.failed(504, "the text took more than " + timeout.toSeconds() + " s");
        }
        metrics.text(text.promptTokens(), text.tokens().size(), (System.nanoTime() - Math.max(first[0], start)) * 1e-9);
        return text;
    }

    /** Sends the parts of an answer when they are found. */
    private record AnswerEvents(
            TextApi api, Call call, int index, @Nullable EventStream events) implements AnswerListener {
        @Override
        public void onText(String part) {
            send(delta -> delta.put("content", part));
        }

        @Override
        public void onReasoning(String part) {
            send(delta -> delta.put("reasoning_content", part));
        }

        @Override
        public void onCall(int number, ToolCall toolCall) {
            send(delta -> delta.putArray("tool_calls").add(json(toolCall).put("index", number)));
        }

        @Override
        public void onBrokenCall(String text, String problem) {
            send(delta -> delta.put("content", text));
        }

        private void send(Consumer<ObjectNode> delta) {
            if (events != null) {
                events.send(api.chunk(call, index, delta, null));
            }
        }
    }

    private static ObjectNode json(ToolCall call) {
        ObjectNode node =
                JsonNodeFactory.instance.objectNode().put("id", call.id()).put("type", "function");
        node.putObject("function").put("name", call.name()).put("arguments", call.arguments());
        return node;
    }

    /**
     * Returns the event of a token. If a prompt is continued, it has the text of the token. In a chat, it has only the
     * probability, since other events have the parts of the answer.
     */
    private String event(Call call, int index, GeneratedToken token) {
        if (call.chat != null && !call.logProbabilities() && !call.tokenIds) {
            return "";
        }
        ObjectNode root = part(call);
        ObjectNode choice = root.putArray("choices").addObject().put("index", index);
        if (call.chat == null) {
            choice.put("text", token.text());
        } else {
            choice.putObject("delta");
        }
        if (call.logProbabilities()) {
            choice.set("logprobs", probabilities.of(List.of(token), call.chat != null));
        }
        if (call.tokenIds) {
            choice.putArray("token_ids").add(token.id());
        }
        choice.putNull("finish_reason");
        return root.toString();
    }

    /** Returns the event before the first token. */
    private String first(Call call, int index, int[] prompt) {
        ObjectNode root = part(call);
        ObjectNode choice = root.putArray("choices").addObject().put("index", index);
        if (call.chat == null) {
            choice.put("text", "");
        } else {
            choice.putObject("delta").put("role", "assistant").put("content", "");
        }
        if (call.tokenIds) {
            ArrayNode ids = choice.putArray("prompt_token_ids");
            Arrays.stream(prompt).forEach(ids::add);
        }
        choice.putNull("finish_reason");
        return root.toString();
    }

    private String chunk(Call call, int index, Consumer<ObjectNode> delta, @Nullable String finish) {
        ObjectNode root = part(call);
        ObjectNode choice = root.putArray("choices").addObject().put("index", index);
        if (call.chat == null) {
            choice.put("text", "");
        } else {
            delta.accept(choice.putObject("delta"));
        }
        choice.put("finish_reason", finish);
        return root.toString();
    }

    private ObjectNode choice(Call call, int index, Written written) {
        ObjectNode choice = JsonNodeFactory.instance.objectNode().put("index", index);
        ModelAnswer answer = written.answer;
        if (answer == null) {
            choice.put("text", written.text.text());
        } else {
            choice.set("message", message(answer));
        }
        if (call.logProbabilities()) {
            choice.set("logprobs", probabilities.of(written.text.tokens(), call.chat != null));
        } else {
            choice.putNull("logprobs");
        }
        if (call.tokenIds) {
            ArrayNode prompt = choice.putArray("prompt_token_ids");
            Arrays.stream(written.prompt).forEach(prompt::add);
            ArrayNode ids = choice.putArray("token_ids");
            written.text.tokens().forEach(token -> ids.add(token.id()));
        }
        return choice.put("finish_reason", written.finish());
    }

    private static ObjectNode message(ModelAnswer answer) {
        ObjectNode message = JsonNodeFactory.instance.objectNode().put("role", "assistant");
        boolean silent = answer.content().isEmpty() && !answer.toolCalls().isEmpty();
        message.put("content", silent ? null : answer.content()).putNull("refusal");
        if (!answer.reasoning().isEmpty()) {
            message.put("reasoning_content", answer.reasoning());
        }
        if (!answer.toolCalls().isEmpty()) {
            ArrayNode calls = message.putArray("tool_calls");
            answer.toolCalls().forEach(call -> calls.add(json(call)));
        }
        return message;
    }

    /** Begins an event of a text. The usage of all texts is in a later event. */
    private ObjectNode part(Call call) {
        ObjectNode root = head(call, call.object(CHUNK));
        return call.fields.streamsUsage() ? root.putNull("usage") : root;
    }

    private ObjectNode head(Call call, String object) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("id", call.id)
                .put("object", object)
                .put("created", call.created)
                .put("model", name);
    }

    private static void usage(ObjectNode root, Call call, List<Written> texts) {
        int prompt = 0; // the texts of a prompt share its tokens
        for (int i = 0; i < texts.size(); i += call.fields.texts()) {
            prompt += texts.get(i).text.promptTokens();
        }
        int generated =
                texts.stream().mapToInt(each -> each.text.tokens().size()).sum();
        root.putObject("usage")
                .put("prompt_tokens", prompt)
                .put("completion_tokens", generated)
                .put("total_tokens", prompt + generated);
    }
}
