const { spawnSync } = require("child_process");
const { Worker } = require("worker_threads");
console.log(spawnSync("sh", ["-c", "kill -SEGV $$"]).signal);
new Worker("process.exit(2)", { eval: true }).on("exit", status => process.exit(status + 2));
