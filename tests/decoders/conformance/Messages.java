import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.lang.reflect.ParameterizedType;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Struct;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

/**
 * Writes random instances of Kafka's generated classes in every version, and prints how Kafka reads their bytes.
 *
 * Arguments: seed, instances per class and version, class names. Each line of the output has five columns separated by
 * tabs: simple class name, version, "written" | "accepted" | "refused", bytes in hex, Kafka's JSON. Lines with "accepted"
 * or "refused" have a corrupted copy of the previous bytes, and whether the generated class can read it. JSON after a "~"
 * comes from the schema of a class without a JSON converter: names in snake case, any order.
 */
public class Messages {
    private static final int[] INTS = {Integer.MIN_VALUE, Integer.MAX_VALUE, -2, -1, 0, 1, 127, 128, 255, 256, 65535, 65536};
    private static final long[] LONGS = {Long.MIN_VALUE, Long.MAX_VALUE, -2, -1, 0, 1, 1234, 1L << 31, 1L << 32, -(1L << 32)};
    private static final double[] DOUBLES = {0, 1, -1.5, 1e10, 1e-5, 123456.789, 1e7, 1024, 0.001};
    private static final String[] STRINGS = {
        "", "a", "topic-0", "ü€😀", "\u0000\b\t\n\f\r\"\\/\u001b\u001f\u007f\u2028", "x".repeat(126), "x".repeat(127),
        "x".repeat(128), "é".repeat(64), "y".repeat(16384)
    };
    private static final int[] SIZES = {0, 0, 1, 1, 2, 3};
    private static final byte[] CORRUPTING_BYTES = {0, 1, -1, (byte) 0x80, 0x7f, 16, 2};
    private static final Map<String, Boolean> NULLABLE_STRUCTS = new HashMap<>();
    private static Random random;
    private static PrintStream out;

    public static void main(String[] arguments) throws Exception {
        random = new Random(Long.parseLong(arguments[0]));
        int count = Integer.parseInt(arguments[1]);
        out = new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false, "UTF-8");
        for (String name : Arrays.copyOfRange(arguments, 2, arguments.length)) {
            Class<?> kind = Class.forName(name);
            short lowest = kind.getField("LOWEST_SUPPORTED_VERSION").getShort(null);
            short highest = kind.getField("HIGHEST_SUPPORTED_VERSION").getShort(null);
            for (short version = lowest; version <= highest; version++) {
                for (int instance = 0; instance < count; instance++) {
                    writeInstance(kind, version);
                }
            }
        }
        out.flush();
    }

    private static void writeInstance(Class<?> kind, short version) throws Exception {
        Message message = (Message) kind.getConstructor().newInstance();
        fill(message, version);
        byte[] bytes = bytes(message, version);
        print(kind, version, "written", bytes, json(message, bytes, version));
        byte[] corrupted = corrupt(bytes);
        Message read = (Message) kind.getConstructor().newInstance();
        try {
            read.read(new ByteBufferAccessor(ByteBuffer.wrap(corrupted)), version);
        } catch (RuntimeException refused) {
            print(kind, version, "refused", corrupted, "");
            return;
        }
        print(kind, version, "accepted", corrupted, json(read, corrupted, version));
    }

    private static void print(Class<?> kind, short version, String outcome, byte[] bytes, String json) {
        String hex = HexFormat.of().formatHex(bytes);
        out.print(kind.getSimpleName() + "\t" + version + "\t" + outcome + "\t" + hex + "\t" + json + "\n");
    }

    private static byte[] bytes(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.array();
    }

    private static String json(Message message, byte[] bytes, short version) throws Exception {
        Class<?> converter;
        try {
            converter = Class.forName(message.getClass().getName() + "JsonConverter");
        } catch (ClassNotFoundException none) {
            return "~" + text(schema(message.getClass(), version).read(ByteBuffer.wrap(bytes)));
        }
        return converter.getMethod("write", message.getClass(), short.class).invoke(null, message, version).toString();
    }

    /** Returns the JSON of a value read by a schema, for classes without a JSON converter; names are in snake case. */
    static String text(Object value) {
        if (value instanceof Struct) {
            List<String> fields = new ArrayList<>();
            for (BoundField bound : ((Struct) value).schema().fields()) {
                Object inner = ((Struct) value).get(bound);
                if (bound.def.type instanceof TaggedFields) {
                    tagged((TaggedFields) bound.def.type, (Map<?, ?>) inner, fields);
                } else {
                    fields.add("\"" + bound.def.name + "\":" + text(inner));
                }
            }
            return "{" + String.join(",", fields) + "}";
        }
        if (value instanceof Object[]) {
            List<String> elements = new ArrayList<>();
            for (Object element : (Object[]) value) {
                elements.add(text(element));
            }
            return "[" + String.join(",", elements) + "]";
        }
        if (value instanceof ByteBuffer) {
            byte[] copy = new byte[((ByteBuffer) value).remaining()];
            ((ByteBuffer) value).duplicate().get(copy);
            return "\"" + Base64.getEncoder().encodeToString(copy) + "\"";
        }
        if (value instanceof String) {
            return com.fasterxml.jackson.databind.node.TextNode.valueOf((String) value).toString();
        }
        return value instanceof Uuid ? "\"" + value + "\"" : String.valueOf(value);
    }

    private static void tagged(TaggedFields section, Map<?, ?> values, List<String> fields) {
        for (Map.Entry<Integer, Field> known : tagged(section).entrySet()) {
            if (values.containsKey(known.getKey())) {
                fields.add("\"" + known.getValue().name + "\":" + text(values.get(known.getKey())));
            }
        }
    }

    private static Schema schema(Class<?> kind, short version) throws Exception {
        return ((Schema[]) kind.getField("SCHEMAS").get(null))[version];
    }

    private static void fill(Message message, short version) throws Exception {
        for (BoundField bound : schema(message.getClass(), version).fields()) {
            if (!(bound.def.type instanceof TaggedFields)) {
                set(message, bound.def, version);
                continue;
            }
            for (Field tagged : tagged((TaggedFields) bound.def.type).values()) {
                if (random.nextInt(3) > 0) {
                    set(message, tagged, version);
                }
            }
            if (random.nextInt(8) == 0) {
                byte[] data = new byte[random.nextInt(200)];
                random.nextBytes(data);
                message.unknownTaggedFields().add(new RawTaggedField(100 + random.nextInt(100), data));
            }
        }
    }

    /** Returns the fields of a tagged section, by reflection because 3.9 has no public method. */
    @SuppressWarnings("unchecked")
    private static Map<Integer, Field> tagged(TaggedFields section) {
        try {
            java.lang.reflect.Field fields = TaggedFields.class.getDeclaredField("fields");
            fields.setAccessible(true);
            return (Map<Integer, Field>) fields.get(section);
        } catch (ReflectiveOperationException never) {
            throw new IllegalStateException(never);
        }
    }

    private static void set(Message message, Field field, short version) throws Exception {
        StringBuilder name = new StringBuilder();
        for (String word : field.name.split("_")) {
            name.append(name.length() == 0 ? word : Character.toUpperCase(word.charAt(0)) + word.substring(1));
        }
        java.lang.reflect.Field javaField = javaField(message.getClass(), name.toString());
        Object value = value(javaField.getGenericType(), field.type, version);
        if (Message.class.isAssignableFrom(javaField.getType()) && nullable(message, javaField, value, version)) {
            value = random.nextInt(3) == 0 ? null : value;
        }
        javaField.set(message, value);
    }

    /** Returns the Java field of this name, ignoring case because 3.7 writes some abbreviations in capitals. */
    private static java.lang.reflect.Field javaField(Class<?> kind, String name) throws Exception {
        for (java.lang.reflect.Field field : kind.getDeclaredFields()) {
            if (field.getName().equalsIgnoreCase(name)) {
                field.setAccessible(true);
                return field;
            }
        }
        throw new NoSuchFieldException(name);
    }

    /** Returns whether a struct field can be null, by trying it once, because schemas do not contain it. */
    private static boolean nullable(Message owner, java.lang.reflect.Field javaField, Object value, short version) throws Exception {
        String name = owner.getClass().getName() + "." + javaField.getName();
        if (!NULLABLE_STRUCTS.containsKey(name)) {
            Message instance = (Message) owner.getClass().getConstructor().newInstance();
            javaField.set(instance, null);
            try {
                bytes(instance, version);
                NULLABLE_STRUCTS.put(name, true);
            } catch (NullPointerException refused) {
                NULLABLE_STRUCTS.put(name, false);
            }
        }
        return NULLABLE_STRUCTS.get(name);
    }

    private static Object value(java.lang.reflect.Type kind, Type type, short version) throws Exception {
        if (type.isNullable() && random.nextInt(4) == 0) {
            return null;
        }
        if (kind instanceof ParameterizedType) {
            List<Object> list = new ArrayList<>();
            addElements(list, ((ParameterizedType) kind).getActualTypeArguments()[0], type, version);
            return list;
        }
        Class<?> plain = (Class<?>) kind;
        if (Collection.class.isAssignableFrom(plain)) {
            // A subclass of Kafka's ImplicitLinkedHashMultiCollection, which is in another package since 4.4.
            return collection(plain, type, version);
        }
        if (Message.class.isAssignableFrom(plain)) {
            Message struct = (Message) plain.getConstructor().newInstance();
            fill(struct, version);
            return struct;
        }
        return primitive(plain, type);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Object collection(Class<?> kind, Type type, short version) throws Exception {
        Collection collection = (Collection) kind.getConstructor().newInstance();
        List<Object> list = new ArrayList<>();
        addElements(list, ((ParameterizedType) kind.getGenericSuperclass()).getActualTypeArguments()[0], type, version);
        collection.addAll(list);
        return collection;
    }

    private static void addElements(List<Object> list, java.lang.reflect.Type kind, Type type, short version) throws Exception {
        int size = random.nextInt(200) == 0 ? 130 : SIZES[random.nextInt(SIZES.length)];
        for (int at = 0; at < size; at++) {
            list.add(value(kind, type.arrayElementType().orElseThrow(), version));
        }
    }

    private static Object primitive(Class<?> kind, Type type) {
        boolean edge = random.nextBoolean();
        int number = edge ? INTS[random.nextInt(INTS.length)] : random.nextInt();
        if (kind == int.class || kind == Integer.class) {
            return type == Type.UINT16 ? (Object) (number & 0xffff) : (Object) number;
        } else if (kind == short.class || kind == Short.class) {
            return (short) number;
        } else if (kind == byte.class || kind == Byte.class) {
            return (byte) number;
        } else if (kind == long.class || kind == Long.class) {
            return edge ? LONGS[random.nextInt(LONGS.length)] : random.nextLong();
        } else if (kind == boolean.class || kind == Boolean.class) {
            return random.nextBoolean();
        } else if (kind == double.class) {
            return DOUBLES[random.nextInt(DOUBLES.length)];
        } else if (kind == String.class) {
            return STRINGS[random.nextInt(random.nextInt(10) == 0 ? STRINGS.length : STRINGS.length - 1)];
        } else if (kind == Uuid.class) {
            return edge ? (random.nextBoolean() ? Uuid.ZERO_UUID : new Uuid(0, 1)) : new Uuid(random.nextLong(), random.nextLong());
        }
        byte[] bytes = new byte[edge ? SIZES[random.nextInt(SIZES.length)] : random.nextInt(300)];
        random.nextBytes(bytes);
        return kind == byte[].class ? bytes : ByteBuffer.wrap(bytes);
    }

    private static byte[] corrupt(byte[] bytes) {
        byte[] corrupted = bytes.clone();
        int mutation = random.nextInt(4);
        if (mutation == 0) {
            return Arrays.copyOf(corrupted, random.nextInt(bytes.length + 1));
        }
        int range = mutation == 1 ? bytes.length : Math.min(bytes.length, 40);
        for (int times = 1 + random.nextInt(3); times > 0 && range > 0; times--) {
            boolean edge = random.nextBoolean();
            int index = random.nextInt(range);
            corrupted[index] = edge ? CORRUPTING_BYTES[random.nextInt(CORRUPTING_BYTES.length)] : (byte) random.nextInt();
        }
        return corrupted;
    }
}
