package io.multihead.internal.toolcall;

import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads a call that is a JSON object with a name and arguments, as far as the text contains it. */
final class ObjectCall {
    static final String CALL = "tool call";
    /** The end of an incomplete value. */
    static final int OPEN = 0;

    private final String text;
    private final int from;
    private final Keys keys;
    private int at;
    private String id = "";
    private @Nullable String name;
    private String arguments = "";
    private String problem = "";
    private boolean complete;

    /**
     * Names of members: the tool's name, the call's id, empty if ids are not kept, and arguments, of which the first existing name is used.
     */
    record Keys(String name, String id, List<String> arguments) {
        /** Returns the names in most families. */
        static Keys of(String... arguments) {
            return new Keys("name", "id", List.of(arguments));
        }
    }

    private ObjectCall(String text, int from, Keys keys) {
        this.text = text;
        this.from = from;
        this.keys = keys;
        at = from;
    }

    /** Reads the object that begins at an index. */
    static ObjectCall read(String text, int from, Keys keys) {
        ObjectCall call = new ObjectCall(text, from, keys);
        call.read();
        return call;
    }

    boolean isComplete() {
        return complete;
    }

    /** Returns the reason why the object is not a call; empty if it may be a call. */
    String problem() {
        return problem;
    }

    /** Returns the end of the object, or of the text. */
    int end() {
        return at;
    }

    List<Reading.Part> addTo(List<Reading.Part> calls) {
        return name == null
                ? calls
                : Reading.with(calls, new Reading.Part(new Call(id, name, arguments), complete ? at : OPEN));
    }

    private void read() {
        if (next() != '{') {
            fail();
            return;
        }
        at++;
        boolean first = true;
        while (problem.isEmpty() && !complete) {
            int c = next();
            if (c == '}') {
                at++;
                check();
                return;
            }
            if (!first && c == ',') {
                at++;
                c = next();
            } else if (!first) {
                fail();
                return;
            }
            first = false;
            if (c != '"') {
                fail();
                return;
            }
            if (!member()) {
                return;
            }
        }
    }

    /** Fails, unless the text has ended. */
    private void fail() {
        if (at < text.length()) {
            problem = Reading.problem(text.substring(from), "expected a JSON object");
        }
    }

    private int next() {
        at = JsonText.space(text, at);
        return at < text.length() ? text.charAt(at) : -1;
    }

    /** Reads a member; returns whether it is complete. */
    private boolean member() {
        int end = JsonText.valueEnd(text, at);
        if (end < 0) {
            at = text.length();
            return false;
        }
        String key = text.substring(at + 1, end - 1);
        at = end;
        if (next() != ':') {
            fail();
            return false;
        }
        at++;
        if (next() < 0) {
            return false;
        }
        end = JsonText.valueEnd(text, at);
        value(key, end < 0 ? text.substring(at) : text.substring(at, end), end >= 0);
        at = end < 0 ? text.length() : end;
        return end >= 0;
    }

    private void value(String key, String json, boolean whole) {
        boolean isText = json.startsWith("\"");
        if (keys.arguments().contains(key)) {
            if (isText && whole) {
                arguments = unquoted(json);
            } else if (json.startsWith("{")) {
                arguments = json;
            }
        } else if (whole && isText && key.equals(keys.name())) {
            name = unquoted(json);
        } else if (whole && isText && key.equals(keys.id())) {
            id = unquoted(json);
        }
    }

    private String unquoted(String json) {
        try {
            byte[] object = ("{\"text\":" + json + "}").getBytes(StandardCharsets.UTF_8);
            return String.valueOf(Json.object(CALL, object).get("text"));
        } catch (IllegalArgumentException malformed) {
            problem = Reading.problem(json, "expected a JSON string");
            return "";
        }
    }

    /** Checks the whole object strictly. */
    private void check() {
        complete = true;
        String object = text.substring(from, at);
        try {
            Map<String, @Nullable Object> members = Json.object(CALL, object.getBytes(StandardCharsets.UTF_8));
            JsonObject call = new JsonObject(CALL, members);
            String written = call.text(keys.name());
            String key = keys.arguments().stream()
                    .filter(call::has)
                    .findFirst()
                    .orElse(keys.arguments().getFirst());
            if (call.get(key) instanceof String json) {
                Json.object(CALL + "." + key, json.getBytes(StandardCharsets.UTF_8));
            } else {
                call.object(key);
            }
            if (!written.equals(name) || arguments.isEmpty()) {
                throw new IllegalArgumentException(
                        Reading.problem(object, "expected names of members without escapes"));
            }
        } catch (IllegalArgumentException none) {
            complete = false;
            problem = String.valueOf(none.getMessage());
        }
    }
}
