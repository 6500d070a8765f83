package io.multihead.demo.serve;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.multihead.compute.Compute;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.fuzz.SmallDecoder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;

/**
 * Sends requests of arbitrary bytes to the server of the demo: a chat, a prompt after a byte {@code '1'}, or a text to
 * tokenize after a byte {@code '2'}. A request is answered, or refused with an error of the client.
 */
public final class RequestFuzz {
    private static final int CONTEXT = 24;
    private static final TextApi TEXTS = texts();

    private RequestFuzz() {}

    private static TextApi texts() {
        try {
            LanguageModel model = LanguageModel.load(Compute.serial(), SmallDecoder.folder());
            Sessions sessions = model.sessions(
                    SessionOptions.DEFAULT.withContextTokens(CONTEXT).withSessions(16));
            Duration timeout = Duration.ofSeconds(60);
            return new TextApi("m", model, sessions, new Room(1, 1, timeout), new Metrics(), timeout);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /**
     * Loads the classes of a model and of its answers before the first input, since the time of an input is limited.
     */
    public static void fuzzerInitialize() throws IOException, InterruptedException {
        fuzzerTestOneInput("1{\"prompt\": \"ab\", \"max_tokens\": 1}".getBytes(StandardCharsets.UTF_8));
    }

    public static void fuzzerTestOneInput(byte[] input) throws IOException, InterruptedException {
        if (input.length == 0) {
            return;
        }
        try {
            JsonNode body = HttpApi.json(Arrays.copyOfRange(input, 1, input.length));
            if (body instanceof ObjectNode object && object.path("stream").asBoolean()) {
                object.remove("stream"); // there is no connection for events
            }
            Fields fields = new Fields("", body);
            JsonNode answer = input[0] == '1'
                    ? TEXTS.completion(fields, null)
                    : input[0] == '2' ? TEXTS.tokenize(fields) : TEXTS.chat(fields, null);
            if (answer == null || answer.isEmpty()) {
                throw new AssertionError("no answer");
            }
        } catch (RuntimeException refused) {
            ApiException error = HttpApi.error(refused);
            if (error.status() == 500
                    || error.status() == 504
                    || error.json().toString().contains("\"null\"")) {
                throw new AssertionError(error.json().toString(), refused);
            }
        }
    }
}
