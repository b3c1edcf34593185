// The service /rest/tasks. What a handler returns is sent as JSON. With -watch, each
// change is live when you save it.
import type { Routes } from 'restsrv';

export default {
  // The titles of all tasks that are not done.
  'GET /': async (): Promise<string[]> => {
    const open = await dataRepo.getList('task@app', { filter: { done: { $ne: true } } });
    return open.map((task) => task.title);
  },
} satisfies Routes;
