package io.multihead.support;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** A message of ONNX's format. Fields are appended in the order of the calls. The class depends only on the JDK. */
public final class OnnxMessage {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    /** Returns a node. */
    public static OnnxMessage node(String name, String operation, String output, List<String> inputs) {
        OnnxMessage node = new OnnxMessage();
        inputs.forEach(input -> node.text(1, input));
        return node.text(2, output).text(3, name).text(4, operation);
    }

    /** Returns an integer attribute of a node. */
    public static OnnxMessage integer(String name, int value) {
        return new OnnxMessage().text(1, name).number(3, value).number(20, 2);
    }

    /** Returns an attribute of a node with a list of integers. */
    public static OnnxMessage integers(String name, int... values) {
        OnnxMessage attribute = new OnnxMessage().text(1, name);
        for (int value : values) {
            attribute.number(8, value);
        }
        return attribute.number(20, 7);
    }

    /** Returns a floating-point attribute of a node. */
    public static OnnxMessage real(String name, float value) {
        return new OnnxMessage().text(1, name).real(2, value).number(20, 1);
    }

    /** Returns a tensor of f32. */
    public static OnnxMessage tensor(String name, float[] values, int... dims) {
        OnnxMessage tensor = new OnnxMessage();
        for (int dim : dims) {
            tensor.number(1, dim);
        }
        return tensor.number(2, 1).text(8, name).raw(9, little(values));
    }

    /** Returns a tensor of 64-bit integers with one axis. */
    public static OnnxMessage longs(String name, long... values) {
        ByteBuffer little = ByteBuffer.allocate(Long.BYTES * values.length).order(ByteOrder.LITTLE_ENDIAN);
        little.asLongBuffer().put(values);
        return new OnnxMessage()
                .number(1, values.length)
                .number(2, 7)
                .text(8, name)
                .raw(9, little.array());
    }

    /** Returns the bytes of numbers in ONNX's byte order. */
    public static byte[] little(float... values) {
        ByteBuffer little = ByteBuffer.allocate(Float.BYTES * values.length).order(ByteOrder.LITTLE_ENDIAN);
        little.asFloatBuffer().put(values);
        return little.array();
    }

    /** Appends a field with a number. */
    public OnnxMessage number(int field, long value) {
        varint((long) field << 3);
        varint(value);
        return this;
    }

    /** Appends a field with a text. */
    public OnnxMessage text(int field, String value) {
        return raw(field, value.getBytes(StandardCharsets.UTF_8));
    }

    /** Appends a field with another message. */
    public OnnxMessage message(int field, OnnxMessage value) {
        return raw(field, value.bytes());
    }

    /** Appends a field with bytes. */
    public OnnxMessage raw(int field, byte[] value) {
        length(field, value.length);
        bytes.writeBytes(value);
        return this;
    }

    /** Appends the start of a field with {@code length} bytes. */
    public OnnxMessage length(int field, long length) {
        varint((long) field << 3 | 2);
        varint(length);
        return this;
    }

    /** Appends a field with a 32-bit number. */
    public OnnxMessage real(int field, float value) {
        varint((long) field << 3 | 5);
        bytes.writeBytes(little(value));
        return this;
    }

    /** Appends a field with 4 or 8 bytes of 0xff. */
    public OnnxMessage fixed(int field, int length) {
        varint((long) field << 3 | (length == 4 ? 5 : 1));
        for (int i = 0; i < length; i++) {
            bytes.write(0xff);
        }
        return this;
    }

    /** Returns the encoded message. */
    public byte[] bytes() {
        return bytes.toByteArray();
    }

    private void varint(long value) {
        long rest = value;
        for (; (rest & ~0x7fL) != 0; rest >>>= 7) {
            bytes.write((int) (rest & 0x7f | 0x80));
        }
        bytes.write((int) rest);
    }
}
