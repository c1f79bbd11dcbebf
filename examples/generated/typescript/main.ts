// Submits a job, waits for its end and reads its cost, by types made from the published schema:
//   npm ci && npm run generate -- "$URL/api/v1/schema/?format=json" && npm run build
//   node built/main.js $URL $TOKEN demo
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

type JobState = components["schemas"]["JobState"];
const ENDED: readonly JobState[] = ["succeeded", "failed", "cancelled"];

const [url, token, cluster] = process.argv.slice(2);
if (url === undefined || token === undefined || cluster === undefined) {
  throw new Error("usage: main.js URL TOKEN CLUSTER");
}
const client = createClient<paths>({
  baseUrl: url,
  headers: { Authorization: `Bearer ${token}` },
});

const { data: job, error } = await client.POST("/api/v1/jobs/", {
  body: { name: "typed", cluster, gpus: 1, argv: ["python3", "-c", "print(1)"] },
});
if (job === undefined) throw new Error(`refused: ${error.detail}`);

const path = { id: job.id };
let state: JobState = job.state;
while (!ENDED.includes(state)) {
  await new Promise((resolve) => setTimeout(resolve, 500));
  const { data: now } = await client.GET("/api/v1/jobs/{id}/", { params: { path } });
  state = now?.state ?? state;
}
const { data: cost } = await client.GET("/api/v1/jobs/{job_id}/energy/", {
  params: { path: { job_id: job.id } },
});
console.log(
  JSON.stringify({ id: job.id, state, cost_of: cost?.job_id, totals: cost?.totals }),
);
