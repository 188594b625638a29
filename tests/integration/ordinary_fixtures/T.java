public class T {
    public static void main(String[] arguments) throws Exception {
        Thread thread = new Thread(() -> System.out.println(6 * 7));
        thread.start();
        thread.join();
        System.exit(5);
    }
}
