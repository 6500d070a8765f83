package io.multihead.demo.serve;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import io.multihead.decoder.ChatPrompt;
import io.multihead.decoder.FinishReason;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GeneratedToken;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Session;
import io.multihead.decoder.Sessions;
import io.multihead.decoder.TokenListener;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
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
    private final String name;
    private final LanguageModel model;
    private final Sessions sessions;
    private final Room room;
    private final Metrics metrics;
    private final Duration timeout;

    TextApi(String name, LanguageModel model, Sessions sessions, Room room, Metrics metrics, Duration timeout) {
        this.name = name;
        this.model = model;
        this.sessions = sessions;
        this.room = room;
        this.metrics = metrics;
        this.timeout = timeout;
    }

    Sessions sessions() {
        return sessions;
    }

    /** One request: where its prompt comes from, how it is answered, and what its answers look like. */
    private record Call(
            String id, boolean chat, GenerationFields fields, Consumer<Session> prompt, boolean logProbabilities) {
        String object(boolean event) {
            return chat ? event ? "chat.completion.chunk" : "chat.completion" : "text_completion";
        }
    }

    /** Answers a chat; returns the answer, or null if it was streamed. */
    @Nullable
    JsonNode chat(Fields fields, HttpExchange exchange) throws IOException, InterruptedException {
        requireModel(fields);
        ChatPrompt prompt = ChatFields.prompt(fields);
        boolean logProbabilities = fields.flag("logprobs", false);
        fields.integer("top_logprobs", 0, 0, 0);
        GenerationFields generation =
                GenerationFields.of(fields, sessions.contextTokens(), timeout).withLogProbabilities(logProbabilities);
        fields.without("user", "metadata", "safety_identifier", "prompt_cache_key")
                .end();
        return answer(
                new Call(
                        "chatcmpl-" + UUID.randomUUID(),
                        true,
                        generation,
                        session -> session.appendChat(prompt),
                        logProbabilities),
                exchange);
    }

    /** Answers a prompt that is continued; returns the answer, or null if it was streamed. */
    @Nullable
    JsonNode completion(Fields fields, HttpExchange exchange) throws IOException, InterruptedException {
        requireModel(fields);
        String prompt = fields.text("prompt");
        if (fields.flag("echo", false)) {
            throw fields.wrong("echo", "is not supported");
        }
        GenerationFields generation = GenerationFields.of(fields, sessions.contextTokens(), timeout);
        fields.without("user").end();
        return answer(
                new Call("cmpl-" + UUID.randomUUID(), false, generation, session -> session.append(prompt), false),
                exchange);
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

    private void requireModel(Fields fields) {
        String asked = fields.text("model", name);
        if (!asked.equals(name)) {
            throw ApiException.wrong(404, "model: " + asked + " is not here; expected " + name);
        }
    }

    private @Nullable JsonNode answer(Call call, HttpExchange exchange) throws IOException, InterruptedException {
        List<GeneratedText> texts;
        EventStream events = null;
        room.enter();
        try (Session session = sessions.open()) {
            call.prompt.accept(session); // a wrong prompt fails before the answer begins
            events = call.fields.streams() ? new EventStream(exchange) : null;
            texts = texts(call, session, events);
        } catch (RuntimeException failed) {
            if (events == null) {
                throw failed;
            }
            events.send(HttpApi.error(failed).json().toString());
            events.end();
            return null;
        } finally {
            room.leave();
        }
        if (events != null) {
            if (call.fields.streamsUsage()) {
                ObjectNode last = head(call, true);
                last.putArray("choices");
                usage(last, texts);
                events.send(last.toString());
            }
            events.end();
            return null;
        }
        ObjectNode root = head(call, false);
        ArrayNode choices = root.putArray("choices");
        for (int i = 0; i < texts.size(); i++) {
            choices.add(choice(call, i, texts.get(i)));
        }
        usage(root, texts);
        return root;
    }

    /** Generates all texts of a request, which share their prompt, at the same time. */
    private List<GeneratedText> texts(Call call, Session first, @Nullable EventStream events)
            throws InterruptedException {
        int count = call.fields.texts();
        if (count == 1) {
            return List.of(text(call, first, 0, events));
        }
        List<Session> forks = new ArrayList<>();
        List<GeneratedText> texts = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<GeneratedText>> running = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int index = i;
                Session fork = first.fork();
                forks.add(fork);
                running.add(threads.submit(() -> text(call, fork, index, events)));
            }
            for (Future<GeneratedText> each : running) {
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

    private GeneratedText text(Call call, Session session, int index, @Nullable EventStream events) {
        long start = System.nanoTime();
        long[] first = {0};
        if (events != null && call.chat) {
            events.send(event(call, index, "", true, null).toString());
        }
        TokenListener listener = token -> {
            if (first[0] == 0) {
                first[0] = System.nanoTime();
                metrics.firstToken((first[0] - start) * 1e-9);
            }
            return events == null
                    || token.text().isEmpty() && !call.logProbabilities
                    || events.send(event(call, index, token));
        };
        GeneratedText text = session.generate(call.fields.options(index), listener);
        if (text.finish() == FinishReason.TIMEOUT) {
            throw ApiException.failed(504, "the text took more than " + timeout.toSeconds() + " s");
        }
        metrics.text(text.promptTokens(), text.tokens().size(), (System.nanoTime() - Math.max(first[0], start)) * 1e-9);
        if (events != null) {
            events.send(event(call, index, "", false, finish(text)).toString());
        }
        return text;
    }

    private String event(Call call, int index, GeneratedToken token) {
        ObjectNode event = event(call, index, token.text(), false, null);
        if (call.logProbabilities) {
            ObjectNode choice = (ObjectNode) event.path("choices").path(0);
            choice.putObject("logprobs").putArray("content").add(logProbability(token));
        }
        return event.toString();
    }

    private ObjectNode event(Call call, int index, String text, boolean first, @Nullable String finish) {
        ObjectNode root = head(call, true);
        ObjectNode choice = root.putArray("choices").addObject().put("index", index);
        if (call.chat) {
            ObjectNode delta = choice.putObject("delta");
            if (first) {
                delta.put("role", "assistant");
            }
            if (finish == null) {
                delta.put("content", text);
            }
        } else {
            choice.put("text", text);
        }
        choice.put("finish_reason", finish);
        return root;
    }

    private ObjectNode choice(Call call, int index, GeneratedText text) {
        ObjectNode choice = JsonNodeFactory.instance.objectNode().put("index", index);
        if (call.chat) {
            choice.putObject("message")
                    .put("role", "assistant")
                    .put("content", text.text())
                    .putNull("refusal");
        } else {
            choice.put("text", text.text());
        }
        if (call.logProbabilities) {
            ArrayNode content = choice.putObject("logprobs").putArray("content");
            text.tokens().forEach(token -> content.add(logProbability(token)));
        } else {
            choice.putNull("logprobs");
        }
        return choice.put("finish_reason", finish(text));
    }

    private ObjectNode logProbability(GeneratedToken token) {
        ObjectNode node = JsonNodeFactory.instance.objectNode();
        node.put("token", token.text()).put("logprob", token.logProbability());
        node.putNull("bytes").putArray("top_logprobs");
        return node;
    }

    private static String finish(GeneratedText text) {
        return switch (text.finish()) {
            case END_TOKEN, STOP_TEXT, CANCELLED -> "stop";
            case MAX_TOKENS, CONTEXT_FULL, TIMEOUT -> "length";
        };
    }

    private ObjectNode head(Call call, boolean event) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("id", call.id)
                .put("object", call.object(event))
                .put("created", Instant.now().getEpochSecond())
                .put("model", name);
    }

    private static void usage(ObjectNode root, List<GeneratedText> texts) {
        int prompt = texts.getFirst().promptTokens();
        int generated = texts.stream().mapToInt(text -> text.tokens().size()).sum();
        root.putObject("usage")
                .put("prompt_tokens", prompt)
                .put("completion_tokens", generated)
                .put("total_tokens", prompt + generated);
    }
}
