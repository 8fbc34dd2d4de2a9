// tools/scripts/columns_to_text.mjs - prints columns of Parquet and Arrow files as text, a row a line, for a pipe into `unweave import`.
//
//   npm install hyparquet apache-arrow                      in your own folder; each is needed for its own kind of file
//   node tools/scripts/columns_to_text.mjs --columns src,dst edges/*.parquet | unweave import demo.store --edges -
//   node tools/scripts/columns_to_text.mjs --columns x nodes.parquet | unweave import demo.store --features - --nodes N ...
//
// Without --columns it prints all. A column of lists is as many fields. Files are read one after another, a group of rows (Parquet) or a
// batch (Arrow) at a time. After an error it prints a line that no import takes. The packages are searched from the folder in which the
// command runs, and in NODE_PATH. For Parquet that is compressed otherwise than by Snappy, install hyparquet-compressors, too.
import { createRequire } from "node:module";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

class Refused extends Error {}

const require = createRequire(path.join(process.cwd(), "any.js"));

/// A package of npm; undefined where it is not there and need not be.
async function load(name, needed) {
  let file;
  try {
    file = require.resolve(name);
  } catch {
    if (!needed) return undefined;
    throw new Refused(`the package ${name} is not in node_modules here; run npm install ${name}`);
  }
  const module = await import(pathToFileURL(file));
  return { ...module.default, ...module };
}

function parse(words) {
  const options = { columns: undefined, files: [] };
  for (let i = 0; i < words.length; ++i) {
    if (words[i] === "--columns" && i + 1 < words.length) options.columns = words[++i].split(",");
    else if (words[i].startsWith("--")) throw new Refused(`unknown option ${words[i]}`);
    else options.files.push(words[i]);
  }
  if (options.files.length === 0) throw new Refused("usage: columns_to_text.mjs [--columns A,B] FILE ...");
  return options;
}

/// The fields of a value. `place` says where it stands, for errors.
function fieldsOf(value, place) {
  switch (typeof value) {
    case "number":
    case "bigint":
      return String(value);
    case "string":
      // What parts words, or makes a comment, would be read as something else.
      if (!/^[^\s,#][^\s,]*$/u.test(value))
        throw new Refused(`${place()}: ${JSON.stringify(value.slice(0, 40))} is no name of a node: one word without commas, not begun by #`);
      return value;
    case "object":
      if (value !== null && Symbol.iterator in value) return Array.from(value, (one) => fieldsOf(one, place)).join("\t");
  }
  throw new Refused(`${place()}: ${value === null || value === undefined ? "no value; fill it or leave the row out"
    : `a ${typeof value}, where numbers, texts or lists of them are wanted`}`);
}

function wanted(file, columns, there) {
  for (const column of columns ?? [])
    if (!there.includes(column)) throw new Refused(`${file}: there is no column ${column}; there are ${there.join(", ")}`);
  return columns ?? there;
}

/// Groups of rows as arrays of columns, each an array-like of values.
async function* parquetGroups(file, columns) {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } = await load("hyparquet", true);
  const compressors = (await load("hyparquet-compressors", false))?.compressors;
  const buffer = await asyncBufferFromFile(file);
  const metadata = await parquetMetadataAsync(buffer);
  // The schema lists the tree of fields in depth-first order; the children of the root are the columns.
  const names = [];
  for (let at = 1, left = metadata.schema[0].num_children; left > 0; --left) {
    names.push(metadata.schema[at].name);
    for (let inner = 1; inner > 0; --inner) inner += metadata.schema[at++].num_children ?? 0;
  }
  const chosen = wanted(file, columns, names);
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const rows = await parquetReadObjects({ file: buffer, metadata, columns: chosen, rowStart, rowEnd, compressors });
    if (rows.length !== rowEnd - rowStart) throw new Refused(`${file}: ${rows.length} rows in a group of ${rowEnd - rowStart}`);
    yield { names: chosen, first: rowStart, columns: chosen.map((name) => rows.map((row) => row[name])) };
    rowStart = rowEnd;
  }
}

async function* arrowGroups(file, columns) {
  const { RecordBatchReader } = await load("apache-arrow", true);
  const handle = await open(file);
  const head = Buffer.alloc(6);
  await handle.read(head, 0, 6, 0);
  const isFile = head.toString("latin1") === "ARROW1";
  if (!isFile) await handle.close();
  const reader = await RecordBatchReader.from(isFile ? handle : createReadStream(file));
  await reader.open();
  const chosen = wanted(file, columns, reader.schema.fields.map((field) => field.name));
  let first = 0;
  for await (const batch of reader) {
    yield { names: chosen, first, columns: chosen.map((name) => Array.from(batch.getChild(name))) };
    first += batch.numRows;
  }
}

async function* linesOf(options) {
  for (const file of options.files) {
    const isArrow = /\.(arrow|arrows|feather|ipc)$/i.test(file);
    try {
      for await (const { names, first, columns } of isArrow ? arrowGroups(file, options.columns) : parquetGroups(file, options.columns)) {
        let text = "";
        for (let row = 0; row < columns[0].length; ++row) {
          const line = columns.map((column, c) => fieldsOf(column[row], () => `${file}: row ${first + row}, column ${names[c]}`)).join("\t");
          text += line + "\n";
          if (text.length > 1 << 20) {
            yield text;
            text = "";
          }
        }
        yield text;
      }
    } catch (error) {
      if (error instanceof Refused) throw error;
      const remedy = /compression codec/.test(error.message) ? "; run npm install hyparquet-compressors" : "";
      throw new Refused(`${file}: ${error.message}${remedy}`);
    }
  }
}

try {
  process.stdout.on("error", (error) => process.exit(error.code === "EPIPE" ? 0 : 2)); // who reads the pipe wants no more
  for await (const text of linesOf(parse(process.argv.slice(2))))
    if (!process.stdout.write(text)) await new Promise((resolve) => process.stdout.once("drain", resolve));
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  process.stderr.write(`columns_to_text: ${error.message}\n`);
  // What reads the pipe sees its end alone, and would take the part for all. It refuses this line.
  process.stdout.write("! columns_to_text has failed !\n");
  process.exitCode = 2;
}
