package io.multihead.internal.base;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes the values that {@link Json} reads: maps with texts as keys, lists, texts, finite numbers, booleans and null. */
public final class JsonWriter {
    private final String source;
    private final StringBuilder json = new StringBuilder();

    private JsonWriter(String source) {
        this.source = source;
    }

    /**
     * Returns an object as JSON, with its members in the order of the map.
     *
     * @param source its name in messages
     * @throws IllegalArgumentException if a text has an unpaired surrogate, which UTF-8 cannot hold
     */
    public static String write(String source, Map<String, ?> object) {
        JsonWriter writer = new JsonWriter(source);
        writer.object(object);
        return writer.json.toString();
    }

    /**
     * Writes an object to a file, which appears completely or not at all.
     *
     * @throws IllegalArgumentException if a text has an unpaired surrogate, which UTF-8 cannot hold; nothing is written
     */
    public static void write(Path file, Map<String, ?> object) throws IOException {
        byte[] bytes = write(file.toString(), object).getBytes(StandardCharsets.UTF_8);
        AtomicFile.write(file, "json", to -> to.append(ByteBuffer.wrap(bytes)));
    }

    private void object(Map<?, ?> members) {
        json.append('{');
        String comma = "";
        for (Map.Entry<?, ?> member : members.entrySet()) {
            json.append(comma);
            text((String) member.getKey());
            json.append(':');
            value(member.getValue());
            comma = ",";
        }
        json.append('}');
    }

    private void array(List<?> elements) {
        json.append('[');
        String comma = "";
        for (Object element : elements) {
            json.append(comma);
            value(element);
            comma = ",";
        }
        json.append(']');
    }

    private void value(@Nullable Object value) {
        switch (value) {
            case Map<?, ?> members -> object(members);
            case List<?> elements -> array(elements);
            case String text -> text(text);
            case null, default -> json.append(value);
        }
    }

    private void text(String text) {
        if (Json.unpaired(text)) {
            throw Checks.fail(source, "an unpaired surrogate in \"" + text + "\"", "expected text that UTF-8 can hold");
        }
        json.append('"');
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < ' ') {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        json.append('"');
    }
}
