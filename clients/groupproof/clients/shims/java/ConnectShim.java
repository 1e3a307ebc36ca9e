import groupproof.shim.ConsumerSettings;
import groupproof.shim.PushMember;
import groupproof.shim.Settings;
import groupproof.shim.ShimProcess;
import groupproof.shim.Unimplemented;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.connector.policy.NoneConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.runtime.SessionKey;
import org.apache.kafka.connect.runtime.TargetState;
import org.apache.kafka.connect.runtime.Worker;
import org.apache.kafka.connect.runtime.WorkerConfig;
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;
import org.apache.kafka.connect.runtime.distributed.DistributedHerder;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.storage.ConfigBackingStore;
import org.apache.kafka.connect.storage.MemoryOffsetBackingStore;
import org.apache.kafka.connect.storage.MemoryStatusBackingStore;
import org.apache.kafka.connect.storage.StatusBackingStore;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * A worker of Kafka Connect behind the shim contract: Kafka's own DistributedHerder with its group member, assignors and tasks, releases 2.4 to 4.x.
 *
 * <p>Only what a worker keeps in topics of its own is in memory: the configuration, the offsets of its sources, and the status of its tasks. The
 * topics of `subscribe` name the connectors, each with `tasks.max` tasks that produce nothing. The file compiles against any of these releases;
 * what differs between them is reached by reflection.
 */
public final class ConnectShim {
    static final List<String> CAPABILITIES = List.of("connect", "resubscribe");
    static final String OWN = "kit.";

    public static void main(String[] args) throws Exception {
        for (String noisy : List.of("org.reflections", "org.apache.kafka.connect.runtime.isolation", "org.apache.kafka.clients", "org.apache.kafka.connect.runtime.WorkerConfig"))
            System.setProperty("org.slf4j.simpleLogger.log." + noisy, "error");
        ShimProcess.serve("kafka-connect", ConsumerSettings.RELEASE, CAPABILITIES, WorkerMember::new);
    }

    /** One worker. */
    static final class WorkerMember extends PushMember {
        DistributedHerder herder;
        Configuration configuration;

        WorkerMember(String key) {
            super(key);
        }

        @Override
        protected void resubscribe(List<String> topics) {
            configuration.change(topics);
        }

        @Override
        protected void open(Settings settings) {
            Map<String, String> own = new HashMap<>();
            Map<String, String> config = config(settings, own);
            configuration = new Configuration(settings.takeStrings("topics", List.of()), own);
            String url = "http://" + settings.take("client_id", "worker") + ".invalid:8083/";
            Plugins plugins = plugins();
            plugins.compareAndSwapWithDelegatingLoader();
            DistributedConfig distributed = new DistributedConfig(config);
            ConnectorClientConfigOverridePolicy policy = new NoneConnectorClientConfigOverridePolicy();
            policy.configure(Map.of());
            Offsets offsets = new Offsets();
            offsets.configure(distributed);
            Worker worker = made(Worker.class, url, Time.SYSTEM, plugins, distributed, offsets, policy);
            StatusBackingStore status = new MemoryStatusBackingStore();
            status.configure(distributed);
            herder = made(DistributedHerder.class, distributed, Time.SYSTEM, worker, "cluster", status, configuration.store(), url, policy,
                    restClient(distributed), List.of(), new AutoCloseable[0]);
            herder.start();
        }

        @Override
        protected void stop(Boolean leave) {
            herder.stop();
        }

        static Map<String, String> config(Settings settings, Map<String, String> own) {
            Map<String, String> made = new HashMap<>();
            for (String store : List.of("config", "offset", "status")) made.put(store + ".storage.topic", "in-memory-" + store);
            for (String side : List.of("key", "value")) made.put(side + ".converter", "org.apache.kafka.connect.storage.StringConverter");
            made.put("plugin.discovery", "only_scan");
            made.put("producer.enable.idempotence", "false"); // its tasks send nothing, and a producer would ask for an id
            made.put("task.shutdown.graceful.timeout.ms", "1000");
            made.put("bootstrap.servers", settings.take("bootstrap", ""));
            made.put("group.id", settings.take("group", ""));
            made.put("client.id", settings.take("client_id", "worker"));
            number(made, "session.timeout.ms", settings, "session_timeout_ms");
            number(made, "heartbeat.interval.ms", settings, "heartbeat_interval_ms");
            number(made, "rebalance.timeout.ms", settings, "max_poll_interval_ms");
            number(made, "metadata.max.age.ms", settings, "metadata_max_age_ms");
            number(made, "request.timeout.ms", settings, "request_timeout_ms");
            for (String field : List.of("protocol", "protocol_type", "broker_release")) settings.take(field, null);
            for (Map.Entry<?, ?> each : settings.<Map<?, ?>>take("properties", Map.of()).entrySet()) {
                String name = (String) each.getKey();
                boolean isOwn = name.startsWith(OWN) || name.equals("tasks.max");
                (isOwn ? own : made).put(isOwn ? name.replace(OWN, "") : name, String.valueOf(each.getValue()));
            }
            return made;
        }

        static void number(Map<String, String> made, String name, Settings settings, String field) {
            if (settings.has(field)) made.put(name, String.valueOf(settings.takeLong(field, 0)));
        }
    }

    static Plugins shared;

    /** Finds the converters and connectors of the class path; once for all workers of this process, since it takes a while. */
    static synchronized Plugins plugins() {
        if (shared == null) shared = new Plugins(Map.of("plugin.discovery", "only_scan"));
        return shared;
    }

    /** The configuration of the cluster as one worker has read it, with an offset that grows with each change. */
    static final class Configuration {
        final TreeMap<String, Map<String, String>> connectors = new TreeMap<>();
        final int tasksMax;
        final long end; // of what can be read
        long offset;
        boolean isRead;
        SessionKey key;
        ConfigBackingStore.UpdateListener listener;

        Configuration(List<String> names, Map<String, String> own) {
            tasksMax = Integer.parseInt(own.getOrDefault("tasks.max", "1"));
            offset = Long.parseLong(own.getOrDefault("config.offset", "1"));
            end = Long.parseLong(own.getOrDefault("config.end", String.valueOf(Long.MAX_VALUE)));
            for (String name : names) connectors.put(name, connector(name));
        }

        Map<String, String> connector(String name) {
            return Map.of("name", name, "connector.class", QuietConnector.class.getName(), "tasks.max", String.valueOf(tasksMax), "topic", name);
        }

        ConfigBackingStore store() {
            return (ConfigBackingStore) Proxy.newProxyInstance(ConnectShim.class.getClassLoader(), new Class<?>[] {ConfigBackingStore.class},
                    (proxy, method, arguments) -> {
                        switch (method.getName()) {
                            case "snapshot": return snapshot();
                            case "contains": return contains((String) arguments[0]);
                            case "setUpdateListener": listener = (ConfigBackingStore.UpdateListener) arguments[0]; return null;
                            case "putSessionKey": put((SessionKey) arguments[0]); return null;
                            case "refresh": refresh((Long) arguments[0], (TimeUnit) arguments[1]); return null;
                            case "hashCode": return System.identityHashCode(proxy);
                            case "equals": return proxy == arguments[0];
                            case "toString": return "the configuration in memory";
                            default: return null; // start, stop, and what only a REST server asks for
                        }
                    });
        }

        /** Reads to the end of the configuration, after its beginning; the plan may say that it cannot be read so far as others have. */
        void refresh(long timeout, TimeUnit unit) throws TimeoutException, InterruptedException {
            synchronized (this) {
                if (!isRead || end == Long.MAX_VALUE || offset < end) {
                    offset = isRead && end < Long.MAX_VALUE ? end : offset;
                    isRead = true;
                    return;
                }
            }
            unit.sleep(timeout);
            throw new TimeoutException("the configuration cannot be read further than " + end);
        }

        synchronized boolean contains(String name) {
            return connectors.containsKey(name);
        }

        void put(SessionKey created) {
            synchronized (this) {
                key = created;
            }
            listener.onSessionKeyUpdate(created);
        }

        /** Lets the configuration have these connectors from now on, and tells the worker as the store in a topic does. */
        void change(List<String> names) {
            Set<String> gone;
            Set<String> came = new TreeSet<>(names);
            List<ConnectorTaskId> tasks = new ArrayList<>();
            synchronized (this) {
                gone = new TreeSet<>(connectors.keySet());
                gone.removeAll(names);
                came.removeAll(connectors.keySet());
                connectors.keySet().removeAll(gone);
                for (String name : came) {
                    connectors.put(name, connector(name));
                    for (int task = 0; task < tasksMax; task++) tasks.add(new ConnectorTaskId(name, task));
                }
                offset++;
            }
            for (String name : gone) listener.onConnectorConfigRemove(name);
            for (String name : came) listener.onConnectorConfigUpdate(name);
            if (!tasks.isEmpty()) listener.onTaskConfigUpdate(tasks);
        }

        synchronized Object snapshot() {
            Map<String, Integer> counts = new HashMap<>();
            Map<String, Map<String, String>> configs = new HashMap<>(connectors);
            Map<String, TargetState> states = new HashMap<>();
            Map<ConnectorTaskId, Map<String, String>> tasks = new HashMap<>();
            Map<String, Object> applied = new HashMap<>();
            for (String name : connectors.keySet()) {
                counts.put(name, tasksMax);
                states.put(name, TargetState.STARTED);
                applied.put(name, applied(connectors.get(name)));
                for (int task = 0; task < tasksMax; task++)
                    tasks.put(new ConnectorTaskId(name, task), Map.of("task.class", QuietTask.class.getName(), "task", String.valueOf(task)));
            }
            return state(Arrays.asList(counts, configs, states, tasks), applied);
        }

        /** The class moved to another package with 3.3; later releases have more maps: counts, generations, what was applied, what is to be fenced. */
        Object state(List<Map<?, ?>> first, Map<String, Object> applied) {
            Class<?> state = found("org.apache.kafka.connect.storage.ClusterConfigState", "org.apache.kafka.connect.runtime.distributed.ClusterConfigState");
            Constructor<?> shortest = Arrays.stream(state.getConstructors()).min((a, b) -> a.getParameterCount() - b.getParameterCount()).get();
            int maps = (int) Arrays.stream(shortest.getParameterTypes()).filter(type -> type == Map.class).count();
            List<Object> arguments = new ArrayList<>(List.of(offset));
            arguments.add(key);
            arguments.addAll(first);
            for (int more = first.size(); more < maps; more++) arguments.add(more == first.size() + 2 ? applied : new HashMap<>());
            while (arguments.size() < shortest.getParameterCount()) arguments.add(new TreeSet<String>());
            return made(shortest, arguments.toArray());
        }

        static Object applied(Map<String, String> config) {
            Class<?> applied = found("org.apache.kafka.connect.storage.AppliedConnectorConfig");
            return applied == null ? null : made(applied.getConstructors()[0], new Object[] {config});
        }
    }

    static Class<?> found(String... names) {
        for (String name : names) {
            try {
                return Class.forName(name);
            } catch (ClassNotFoundException elsewhere) {
                continue;
            }
        }
        return null;
    }

    /** Made before 3.7 by the herder itself. */
    static Object restClient(AbstractConfig config) {
        Class<?> client = found("org.apache.kafka.connect.runtime.rest.RestClient");
        if (client == null || client.getConstructors().length == 0) return null;
        Constructor<?> only = client.getConstructors()[0];
        return only.getParameterCount() == 1 ? made(only, new Object[] {config}) : null;
    }

    /** Calls the longest public constructor whose parameters these arguments fill, in order by their types. */
    @SuppressWarnings("unchecked")
    static <T> T made(Class<T> type, Object... offered) {
        Constructor<?>[] constructors = type.getConstructors();
        Arrays.sort(constructors, (a, b) -> b.getParameterCount() - a.getParameterCount());
        for (Constructor<?> constructor : constructors) {
            Object[] arguments = filled(constructor.getParameterTypes(), new ArrayList<>(Arrays.asList(offered)));
            if (arguments != null) return (T) made(constructor, arguments);
        }
        throw new Unimplemented("this release makes a " + type.getSimpleName() + " of something else");
    }

    static Object[] filled(Class<?>[] types, List<Object> offered) {
        Object[] arguments = new Object[types.length];
        for (int at = 0; at < types.length; at++) {
            Class<?> type = types[at];
            Object fit = offered.stream().filter(type::isInstance).findFirst().orElse(null);
            if (fit == null) return null;
            offered.remove(fit);
            arguments[at] = fit;
        }
        return arguments;
    }

    static Object made(Constructor<?> constructor, Object[] arguments) {
        try {
            return constructor.newInstance(arguments);
        } catch (InvocationTargetException wrapped) {
            throw wrapped.getCause() instanceof RuntimeException ? (RuntimeException) wrapped.getCause() : new RuntimeException(wrapped.getCause());
        } catch (ReflectiveOperationException unfit) {
            throw new IllegalStateException(unfit);
        }
    }

    /** The source's offsets, of which there are none. */
    public static final class Offsets extends MemoryOffsetBackingStore {
        public Set<Map<String, Object>> connectorPartitions(String connector) {
            return Set.of();
        }
    }

    /** A connector with as many tasks as it may have. */
    public static final class QuietConnector extends SourceConnector {
        @Override
        public String version() {
            return "1";
        }

        @Override
        public void start(Map<String, String> config) {}

        @Override
        public Class<? extends Task> taskClass() {
            return QuietTask.class;
        }

        @Override
        public List<Map<String, String>> taskConfigs(int tasksMax) {
            List<Map<String, String>> configs = new ArrayList<>();
            for (int task = 0; task < tasksMax; task++) configs.add(new HashMap<>(Map.of("task", String.valueOf(task))));
            return configs;
        }

        @Override
        public void stop() {}

        @Override
        public ConfigDef config() {
            return new ConfigDef();
        }
    }

    /** A task that has nothing to send. */
    public static final class QuietTask extends SourceTask {
        @Override
        public String version() {
            return "1";
        }

        @Override
        public void start(Map<String, String> config) {}

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            TimeUnit.MILLISECONDS.sleep(50);
            return Collections.emptyList();
        }

        @Override
        public void stop() {}
    }
}
