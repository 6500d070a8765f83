package io.multihead.internal.template;

import io.multihead.text.PromptText;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Filters, which {@code |} applies to a value. */
final class Filters {
    private static final int MOST_INDENT = 1000;

    private final Budget budget;
    private final Access access;

    Filters(Budget budget, Access access) {
        this.budget = budget;
        this.access = access;
    }

    Object apply(String name, Object value, List<Object> positional, Map<String, Object> named) {
        Signature signature = Signature.FILTERS.get(name);
        if (signature == null) {
            throw new Fault("filter " + name + " is not implemented");
        }
        List<Object> arguments = signature.bind(positional, named);
        return switch (name) {
            // as in Jinja, which reads elements only of true values
            case "map" -> map(Values.isTrue(value) ? value : Items.list(List.of()), positional, named);
            case "select", "reject" ->
                select(name, Values.isTrue(value) ? value : Items.list(List.of()), 0, positional);
            case "selectattr", "rejectattr" ->
                select(name, Values.isTrue(value) ? value : Items.list(List.of()), 1, positional);
            case "d", "default" -> {
                boolean all = arguments.get(1) != Special.ABSENT && Values.isTrue(arguments.get(1));
                boolean given = !(value instanceof Undefined) && (!all || Values.isTrue(value));
                yield given ? value : arguments.get(0) == Special.ABSENT ? PromptText.template("") : arguments.get(0);
            }
            case "tojson" -> budget.made(JsonText.write(value, arguments, budget));
            case "string" -> budget.made(Values.text(value, budget));
            case "length", "count" -> Values.length(value);
            case "list" -> Items.list(elements(value));
            case "items" -> items(value);
            case "join" -> join(value, arguments);
            case "first", "last" -> end(name, value);
            case "reverse" -> reverse(value);
            case "abs", "int", "float", "round" -> number(name, value, arguments);
            case "sort", "unique", "min", "max", "sum", "dictsort" -> ordered(name, value, arguments);
            default -> ofText(name, Values.text(value, budget), arguments);
        };
    }

    private List<Object> elements(Object value) {
        List<Object> elements = Values.elements(value);
        budget.take(elements.size());
        return elements;
    }

    private Object ofText(String name, PromptText text, List<Object> arguments) {
        budget.takeCharacters(text.length());
        return switch (name) {
            case "trim" -> {
                Object which = arguments.get(0);
                String characters = Methods.isGiven(which) ? Methods.text(which).toString() : null;
                yield Texts.strip(text, characters, true, true);
            }
            case "lower" -> Texts.lower(text);
            case "upper" -> Texts.upper(text);
            case "capitalize" -> Texts.capitalize(text);
            // words of Jinja's filter end at these characters, but words of the method end at every character except
            // letters
            case "title" ->
                Texts.title(text, c -> "-([{<".indexOf(c) >= 0 || c < 0x10000 && Python.isSpace((char) c) ? 0 : 1);
            case "safe" -> text;
            case "replace" ->
                Texts.replace(
                        text,
                        Values.text(arguments.get(0), budget),
                        Values.text(arguments.get(1), budget),
                        Methods.count(arguments.get(2)),
                        budget);
            case "indent" -> {
                Object width = arguments.get(0) == Special.ABSENT ? (Object) 4L : arguments.get(0);
                PromptText by = width instanceof PromptText given
                        ? given
                        : PromptText.template(" ".repeat(Math.clamp(Methods.whole(width), 0, MOST_INDENT)));
                budget.takeCharacters((long) Texts.lines(text, false).size() * by.length());
                boolean first = arguments.get(1) != Special.ABSENT && Values.isTrue(arguments.get(1));
                boolean blank = arguments.get(2) != Special.ABSENT && Values.isTrue(arguments.get(2));
                yield Texts.indent(text, by, first, blank);
            }
            default -> throw new Fault("filter " + name + " is not implemented");
        };
    }

    private static Object items(Object value) {
        return switch (value) {
            case Dict dict -> Items.stream(dict.items());
            case Undefined undefined -> Items.stream(List.of());
            default -> throw new Fault("items of " + Values.type(value) + "; expected a mapping");
        };
    }

    private Object join(Object value, List<Object> arguments) {
        PromptText between =
                arguments.get(0) == Special.ABSENT ? PromptText.template("") : Values.text(arguments.get(0), budget);
        List<Object> elements = elements(value);
        if (arguments.get(1) instanceof PromptText attribute) {
            elements = each(elements, element -> path(element, attribute));
        }
        return Texts.join(elements, between, budget);
    }

    private static Object end(String name, Object value) {
        if (name.equals("last") && value instanceof Items items) {
            items.sized();
        }
        List<Object> elements = Values.elements(value);
        if (elements.isEmpty()) {
            return new Undefined("the " + name + " element of an empty list");
        }
        return name.equals("first") ? elements.getFirst() : elements.getLast();
    }

    private Object reverse(Object value) {
        if (value instanceof Items items) {
            items.sized();
        }
        List<Object> reversed = elements(value).reversed();
        return value instanceof PromptText
                ? Texts.join(reversed, PromptText.template(""), budget)
                : Items.stream(reversed);
    }

    private static List<Object> each(List<Object> elements, UnaryOperator<Object> function) {
        List<Object> results = new ArrayList<>(elements.size());
        elements.forEach(element -> results.add(function.apply(element)));
        return results;
    }

    /** Returns a nested attribute, whose path is given by names with dots between them. */
    private Object path(Object value, Object names) {
        Object at = value;
        for (Object name : Texts.split(Methods.text(names), PromptText.template("."), -1, false)) {
            at = access.item(at, name);
        }
        return at;
    }

    private Object map(Object value, List<Object> positional, Map<String, Object> named) {
        List<Object> elements = elements(value);
        if (named.containsKey("attribute")) {
            Object attribute = named.get("attribute");
            Object otherwise = named.getOrDefault("default", Special.ABSENT);
            return Items.stream(each(elements, element -> {
                Object found = path(element, attribute);
                return found instanceof Undefined && otherwise != Special.ABSENT ? otherwise : found;
            }));
        }
        if (positional.isEmpty()) {
            throw new Fault("map without an argument; expected an attribute or a filter");
        }
        String filter = Methods.text(positional.getFirst()).toString();
        List<Object> rest = positional.subList(1, positional.size());
        return Items.stream(each(elements, element -> {
            budget.enter();
            Object result = apply(filter, element, rest, Map.of());
            budget.leave();
            return result;
        }));
    }

    /** Selects elements with a test on them, or on an attribute if {@code attributes} is 1. */
    private Object select(String name, Object value, int attributes, List<Object> positional) {
        boolean wanted = name.startsWith("select");
        List<Object> selected = new ArrayList<>();
        String test = positional.size() > attributes
                ? Methods.text(positional.get(attributes)).toString()
                : "";
        List<Object> arguments = List.of();
        if (!test.isEmpty()) {
            Signature signature = Signature.TESTS.get(Signature.OPERATORS.getOrDefault(test, test));
            if (signature == null) {
                throw new Fault("test " + test + " is not implemented");
            }
            arguments = signature.bind(positional.subList(attributes + 1, positional.size()), Map.of());
        }
        for (Object element : elements(value)) {
            Object tested = attributes == 1 ? path(element, positional.getFirst()) : element;
            boolean passes = test.isEmpty() ? Values.isTrue(tested) : Tests.test(test, tested, arguments, budget);
            if (passes == wanted) {
                selected.add(element);
            }
        }
        return Items.stream(selected);
    }

    private static Object number(String name, Object value, List<Object> arguments) {
        switch (name) {
            case "int" -> {
                return whole(value, arguments.get(0) == Special.ABSENT ? 0L : arguments.get(0));
            }
            case "float" -> {
                return real(value, arguments.get(0) == Special.ABSENT ? 0.0 : arguments.get(0));
            }
            case "abs" -> {
                return value instanceof Double real ? Math.abs(real) : (Object) Math.absExact(Methods.whole(value));
            }
            default -> {
                if (arguments.get(1) != Special.ABSENT || arguments.get(0) != Special.ABSENT) {
                    throw new Fault("round with arguments is not implemented");
                }
                if (!Values.isNumber(value)) {
                    throw new Fault("round of " + Values.type(value) + "; expected a number");
                }
                return value instanceof Double real ? Math.rint(real) : value;
            }
        }
    }

    private static Object whole(Object value, Object otherwise) {
        try {
            return switch (value) {
                case Double real when Double.isFinite(real) && Math.abs(real) < 0x1p63 -> real.longValue();
                case Long number -> number;
                case Boolean flag -> Values.whole(flag);
                case PromptText text ->
                    Long.parseLong(Texts.strip(text, null, true, true).toString());
                default -> otherwise;
            };
        } catch (NumberFormatException none) {
            Object real = real(value, Special.ABSENT); // as in Jinja, "1.5" is converted to 1
            return real == Special.ABSENT ? otherwise : whole(real, otherwise);
        }
    }

    private static Object real(Object value, Object otherwise) {
        if (Values.isNumber(value)) {
            return Values.real(value);
        }
        String text = value instanceof PromptText chars
                ? Texts.strip(chars, null, true, true).toString()
                : "";
        boolean plain = text.matches("[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?");
        return plain ? (Object) Double.valueOf(text) : otherwise;
    }

    private Object ordered(String name, Object value, List<Object> arguments) {
        return switch (name) {
            case "sort" -> {
                Comparator<Object> order = order(arguments.get(1), arguments.get(2));
                boolean reversed = arguments.get(0) != Special.ABSENT && Values.isTrue(arguments.get(0));
                yield Items.list(sorted(elements(value), reversed ? order.reversed() : order));
            }
            case "dictsort" -> dictsort(value, arguments);
            case "unique" -> {
                List<Object> unique = new ArrayList<>();
                Comparator<Object> order = order(arguments.get(0), arguments.get(1));
                for (Object element : elements(value)) {
                    budget.take(unique.size());
                    if (unique.stream().noneMatch(other -> order.compare(other, element) == 0)) {
                        unique.add(element);
                    }
                }
                yield Items.stream(unique);
            }
            case "sum" -> sum(value, arguments);
            default -> {
                List<Object> elements = elements(value);
                if (elements.isEmpty()) {
                    yield new Undefined("the " + name + " of an empty list");
                }
                Comparator<Object> order = order(Special.ABSENT, Special.ABSENT);
                yield elements.stream()
                        .reduce((a, b) -> order.compare(a, b) <= 0 == name.equals("min") ? a : b)
                        .orElseThrow();
            }
        };
    }

    private Object sum(Object value, List<Object> arguments) {
        Object total = arguments.get(1) == Special.ABSENT ? (Object) 0L : arguments.get(1);
        for (Object element : Values.elements(value)) {
            Object term = arguments.get(0) instanceof PromptText attribute ? path(element, attribute) : element;
            if (!Values.isNumber(total) || !Values.isNumber(term)) {
                throw new Fault("sum of " + Values.type(term) + "; expected numbers");
            }
            total = total instanceof Double || term instanceof Double
                    ? (Object) (Values.real(total) + Values.real(term))
                    : (Object) Math.addExact(Values.whole(total), Values.whole(term));
        }
        return total;
    }

    private List<Object> sorted(List<Object> elements, Comparator<Object> order) {
        budget.take((long) elements.size() * (Integer.SIZE - Integer.numberOfLeadingZeros(elements.size())));
        return elements.stream().sorted(order).toList();
    }

    /** Returns the order of elements, or of an attribute, in which texts are compared without case unless case matters. */
    private Comparator<Object> order(Object caseCounts, Object attribute) {
        boolean cased = caseCounts != Special.ABSENT && Values.isTrue(caseCounts);
        Comparator<Object> order = (a, b) -> Values.compare(folded(a, cased), folded(b, cased), budget);
        return attribute instanceof PromptText name ? (a, b) -> order.compare(path(a, name), path(b, name)) : order;
    }

    private static Object folded(Object value, boolean cased) {
        return !cased && value instanceof PromptText text ? Texts.lower(text) : value;
    }

    private Object dictsort(Object value, List<Object> arguments) {
        if (!(value instanceof Dict dict)) {
            throw new Fault("dictsort of " + Values.type(value) + "; expected a mapping");
        }
        budget.take(dict.size());
        String by = arguments.get(1) == Special.ABSENT
                ? "key"
                : Methods.text(arguments.get(1)).toString();
        if (!by.equals("key") && !by.equals("value")) {
            throw new Fault("dictsort by \"" + by + "\"; expected key or value");
        }
        Comparator<Object> order = order(arguments.get(0), Special.ABSENT);
        int index = by.equals("key") ? 0 : 1;
        Comparator<Object> ofPairs = (a, b) ->
                order.compare(Values.elements(a).get(index), Values.elements(b).get(index));
        boolean reversed = arguments.get(2) != Special.ABSENT && Values.isTrue(arguments.get(2));
        return Items.list(sorted(dict.items(), reversed ? ofPairs.reversed() : ofPairs));
    }
}
