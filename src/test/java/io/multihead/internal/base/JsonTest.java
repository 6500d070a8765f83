package io.multihead.internal.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The JSON reader is compared with Jackson, and the writer with the reader. Messages describe text that is not JSON.
 */
class JsonTest {
    private static final ObjectMapper JACKSON = new ObjectMapper();

    @Provide
    Arbitrary<Object> values() {
        Arbitrary<Object> leaves = Arbitraries.<Object>oneOf(
                Arbitraries.of(true, false),
                Arbitraries.longs().between(-99999999999999999L, 99999999999999999L),
                Arbitraries.doubles(),
                Arbitraries.strings().ofMaxLength(8).filter(text -> !Json.unpaired(text)));
        return Arbitraries.lazyOf(
                () -> leaves.injectNull(0.2),
                () -> leaves,
                () -> values().list().ofMaxSize(3).map(x -> (Object) x),
                () -> Arbitraries.maps(
                                Arbitraries.strings().ofMaxLength(4).filter(text -> !Json.unpaired(text)), values())
                        .ofMaxSize(3)
                        .map(x -> (Object) x));
    }

    @Property(tries = 200)
    void readsWhatJacksonAndTheWriterWrite(@ForAll("values") Object value) throws JsonProcessingException {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("value", value);
        String json = JACKSON.writerWithDefaultPrettyPrinter().writeValueAsString(object);
        assertEquals(object, Json.object("text", json.getBytes(StandardCharsets.UTF_8)), json);
        String written = JsonWriter.write("text", object);
        assertEquals(object, Json.object("text", written.getBytes(StandardCharsets.UTF_8)), written);
        byte[] array = JACKSON.writeValueAsBytes(List.of(object));
        assertEquals(List.of(object), Json.array("text", array));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{'a':} | malformed at character 5; expected a value",
                "{'a':tru} | malformed at character 5; expected true",
                "{'a':nul} | malformed at character 5; expected null",
                "{'a':-} | malformed at character 5; expected a value",
                "{'a':01} | malformed at character 5; expected a value",
                "{'a':-01} | malformed at character 5; expected a value",
                "{'a':1.} | malformed at character 5; expected a value",
                "{'a':.5} | malformed at character 5; expected a value",
                "{'a':1e} | malformed at character 5; expected a value",
                "{'a':1e+} | malformed at character 5; expected a value",
                "{'a':NaN} | malformed at character 5; expected a value",
                "{'a':[1,]} | malformed at character 8; expected a value",
                "{'a':1,'a':2} | \"a\" used twice; expected unique names",
                "{'a':null,'a':2} | \"a\" used twice; expected unique names",
                "{} x | malformed at character 3; expected the end of the text",
                "[] | malformed at character 0; expected '{'",
            })
    void malformedTextIsNamed(String json, String message) {
        assertFails(json.replace('\'', '"'), message);
    }

    @ParameterizedTest
    @CsvSource({"[", "{'a':"})
    void deepNestingIsNoStackOverflow(String open) {
        assertFails("{'b':".replace('\'', '"') + open.replace('\'', '"').repeat(1 << 16), "expected no deeper nesting");
    }

    private static void assertFails(String json, String message) {
        String actual = assertThrows(
                        IllegalArgumentException.class,
                        () -> Json.object("text", json.getBytes(StandardCharsets.UTF_8)))
                .getMessage();
        assertTrue(actual.startsWith("text: ") && actual.contains(message), actual);
    }
}
