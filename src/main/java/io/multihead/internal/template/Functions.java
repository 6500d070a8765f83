package io.multihead.internal.template;

import io.multihead.text.PromptText;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The functions that every template has. */
final class Functions {
    private final Budget budget;
    private final LocalDateTime time;

    Functions(Budget budget, LocalDateTime time) {
        this.budget = budget;
        this.time = time;
    }

    void define(Scope scope) {
        for (Map.Entry<String, Signature> each : Signature.FUNCTIONS.entrySet()) {
            Callable function = (arguments, named) -> call(each.getValue(), arguments, named);
            scope.set(each.getKey(), function);
        }
    }

    private Object call(Signature signature, List<Object> positional, Map<String, Object> named) {
        List<Object> arguments = signature.bind(positional, named);
        return switch (signature.name()) {
            case "range" -> range(arguments);
            case "namespace" -> {
                Namespace namespace = new Namespace();
                namespace.attributes().putAll(members(positional, named));
                yield namespace;
            }
            case "dict" -> {
                Dict dict = new Dict();
                members(positional, named).forEach((name, value) -> dict.put(PromptText.template(name), value));
                yield dict;
            }
            case "raise_exception" ->
                throw new RaisedException(Values.text(arguments.get(0), budget).toString());
            case "strftime_now" ->
                PromptText.template(
                        Clock.format(time, Methods.text(arguments.get(0)).toString()));
            default -> throw new Fault("function " + signature.name() + " is not implemented");
        };
    }

    private static Map<String, Object> members(List<Object> positional, Map<String, Object> named) {
        Map<String, Object> members = new java.util.LinkedHashMap<>();
        for (Object each : positional) {
            if (!(each instanceof Dict dict)) {
                throw new Fault(Values.type(each) + "; expected a mapping or arguments with names");
            }
            dict.entries().forEach(entry -> members.put(entry.key().toString(), entry.value()));
        }
        members.putAll(named);
        return members;
    }

    private Object range(List<Object> arguments) {
        boolean single = arguments.get(1) == Special.ABSENT;
        long from = single ? 0 : Methods.whole(arguments.get(0));
        long to = Methods.whole(arguments.get(single ? 0 : 1));
        long step = arguments.get(2) == Special.ABSENT ? 1 : Methods.whole(arguments.get(2));
        if (step == 0) {
            throw new Fault("range with step 0");
        }
        List<Object> numbers = new ArrayList<>();
        for (long i = from; step > 0 ? i < to : i > to; i = Math.addExact(i, step)) {
            budget.take(1);
            numbers.add(Objects.requireNonNull(i));
        }
        return Items.view(numbers);
    }
}
