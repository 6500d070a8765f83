package io.multihead.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.KeyValueView;
import io.multihead.position.TokenAngles;
import java.lang.reflect.InvocationTargetException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Valid calls in which every kind of bad value replaces each argument in turn. */
class OneBadArgumentTest {
    /** One finding per call, parameter and kind of bad value. */
    private final Map<String, String> findings = new TreeMap<>();

    private int rejected;

    static Stream<Named<ValidCalls.Maker>> calls() {
        return ValidCalls.all().stream()
                .map(maker -> Named.of(maker.apply(new Memory()).toString(), maker));
    }

    @ParameterizedTest
    @MethodSource("calls")
    void everyBadArgumentIsNamedAndNothingIsWritten(ValidCalls.Maker maker) throws InvocationTargetException {
        ValidCall valid = maker.apply(new Memory());
        valid.invoke(-1, null);
        for (int i = 0; i < valid.arguments().length; i++) {
            for (int candidate = 0; spoil(maker, i, candidate); candidate++) {
                // each candidate is tried with separate memory
            }
        }
        assertEquals("", String.join("\n", findings.values()));
        assertTrue(valid.arguments().length == 0 || rejected > 0, valid + " rejects nothing");
    }

    /** Makes a call with the candidate of this index. Returns false if there is no candidate of this index. */
    private boolean spoil(ValidCalls.Maker maker, int argument, int index) {
        Memory memory = new Memory();
        ValidCall call = maker.apply(memory);
        BadValues values = new BadValues(memory, call.tensors());
        Class<?> type = call.target().getParameterTypes()[argument];
        List<BadValues.Candidate> candidates = values.of(type, call.arguments()[argument], call.isNullable(argument));
        for (Throwable early : index == 0 ? values.early() : List.<Throwable>of()) {
            judge(call, argument, "component", early);
        }
        if (index >= candidates.size()) {
            return false;
        }
        BadValues.Candidate candidate = candidates.get(index);
        memory.snapshot();
        try {
            call.invoke(argument, candidate.value());
            // a view does not read memory when it is created, so its memory is checked when the view is used
            Class<?> made = call.target().getReturnType();
            boolean view = (made == KeyValueView.class || made == TokenAngles.class) && candidate.value() != null;
            if (candidate.refused() && !view) {
                report(call, argument, candidate.what(), "is accepted", null);
            }
        } catch (InvocationTargetException thrown) {
            rejected++;
            judge(call, argument, candidate.what(), thrown.getCause());
            if (!memory.isUntouched()) {
                report(call, argument, candidate.what(), "writes before it throws", thrown.getCause());
            }
        }
        return true;
    }

    private void judge(ValidCall call, int argument, String what, Throwable thrown) {
        if (!Verdict.isNamed(thrown)) {
            report(call, argument, what, "throws", thrown);
        }
    }

    private void report(ValidCall call, int argument, String what, String fault, @Nullable Throwable thrown) {
        String kind = call + " parameter " + argument + " " + fault;
        StringBuilder text = new StringBuilder(kind + ": " + what);
        for (int i = 0; thrown != null && i < Math.min(6, thrown.getStackTrace().length); i++) {
            text.append(i == 0 ? "\n    " + thrown : "").append("\n      at ").append(thrown.getStackTrace()[i]);
        }
        findings.putIfAbsent(kind + (thrown == null ? what : thrown.getClass()), text.toString());
    }
}
