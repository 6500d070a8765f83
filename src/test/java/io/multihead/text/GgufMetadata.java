package io.multihead.text;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** The metadata of a well-formed GGUF file. */
record GgufMetadata(Map<String, Object> values) implements TokenizerMetadata {
    static GgufMetadata read(Path file) {
        try {
            ByteBuffer in = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
            in.position(16);
            long count = in.getLong();
            Map<String, Object> values = new HashMap<>();
            for (long i = 0; i < count; i++) {
                String key = string(in);
                values.put(key, value(in, in.getInt()));
            }
            return new GgufMetadata(values);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Object value(ByteBuffer in, int type) {
        return switch (type) {
            case 0, 1 -> (long) in.get();
            case 2, 3 -> (long) in.getShort();
            case 4, 5 -> (long) in.getInt();
            case 6 -> in.getFloat();
            case 7 -> in.get() != 0;
            case 8 -> string(in);
            case 9 -> {
                int element = in.getInt();
                List<Object> list = new ArrayList<>();
                for (long left = in.getLong(); left > 0; left--) {
                    list.add(value(in, element));
                }
                yield list;
            }
            case 10, 11 -> in.getLong();
            case 12 -> in.getDouble();
            default -> throw new IllegalArgumentException("type " + type);
        };
    }

    private static String string(ByteBuffer in) {
        byte[] bytes = new byte[(int) in.getLong()];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    @Override
    public boolean has(String key) {
        return values.containsKey(key);
    }

    @Override
    public Optional<String> findString(String key) {
        return Optional.ofNullable((String) values.get(key));
    }

    @Override
    public OptionalLong findInteger(String key) {
        return has(key) ? OptionalLong.of((Long) values.get(key)) : OptionalLong.empty();
    }

    @Override
    public Optional<Boolean> findBool(String key) {
        return Optional.ofNullable((Boolean) values.get(key));
    }

    @Override
    public List<String> strings(String key) {
        return list(key).stream().map(String.class::cast).toList();
    }

    @Override
    public long[] integers(String key) {
        return list(key).stream().mapToLong(Long.class::cast).toArray();
    }

    @Override
    public float[] floats(String key) {
        float[] floats = new float[list(key).size()];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = (Float) list(key).get(i);
        }
        return floats;
    }

    private List<?> list(String key) {
        return (List<?>) values.get(key);
    }
}
