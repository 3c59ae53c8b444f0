// Parse, transform, compile and run HLO modules, from C.
//
//   hlo_module* module = NULL;
//   hlo_error* error = hlo_module_read("softmax.hlo", &module);
//   if (error != NULL) {
//     fputs(hlo_error_message(error), stderr);
//     hlo_error_free(error);
//     return 1;
//   }
//
// Whatever can fail returns an error, or NULL where all is well; nothing aborts. On an error,
// results are left as they were. Who gets an object from a `**` result frees it with the function
// of its type, which takes NULL, too; texts go to hlo_string_free. Objects belong to no thread:
// different ones can be used at the same time, and one program can run on several threads at once.
// Names, texts and options are those of the command line tools (README.md).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hlo_error hlo_error;
typedef struct hlo_module hlo_module;    // HLO, which passes change
typedef struct hlo_program hlo_program;  // what a platform made of a module; constant
typedef struct hlo_value hlo_value;      // an array or a tuple; constant

// "0.1".
const char* hlo_version(void);
// Names of the platforms, separated by commas: "interpreter,cpu,gpu,gpu-sim".
const char* hlo_platforms(void);
void hlo_string_free(char* text);

// ---- errors ----

// As the tools end:
enum {
  HLO_BAD_INPUT = 1,    // cannot be read, parsed, verified; a wrong argument
  HLO_RUN_FAILURE = 4,  // out of memory, a device or custom call failed
  HLO_UNSUPPORTED = 5,  // valid HLO that this platform cannot handle yet
  HLO_INTERNAL = 70     // a bug of ours
};
int hlo_error_code(const hlo_error* error);
// "softmax.hlo:12:16: error: …", the line of the text, a caret; lives as long as the error.
const char* hlo_error_message(const hlo_error* error);
void hlo_error_free(hlo_error* error);

// ---- modules ----

// HLO text; `name` stands in messages. The module is verified.
hlo_error* hlo_module_parse(const char* text, size_t length, const char* name, hlo_module** module);
// A file of HLO text, or a serialized or compressed one.
hlo_error* hlo_module_read(const char* path, hlo_module** module);
hlo_error* hlo_module_clone(const hlo_module* module, hlo_module** clone);
hlo_error* hlo_module_verify(const hlo_module* module);
// The text that hlo-opt prints, with all constants.
hlo_error* hlo_module_print(const hlo_module* module, char** text);
// Bytes of an HloProto, as XLA writes them; freed with hlo_string_free.
hlo_error* hlo_module_serialize(const hlo_module* module, char** bytes, size_t* size);
// Runs passes, as hlo-opt --passes=PIPELINE. `changed` may be NULL. After an error the module is
// as the failing pass left it: free it.
hlo_error* hlo_module_run_passes(hlo_module* module, const char* pipeline, bool* changed);
size_t hlo_module_parameter_count(const hlo_module* module);
// "f32[2,3]{1,0}", of parameter `number` of the entry computation, or of its result.
hlo_error* hlo_module_parameter_shape(const hlo_module* module, size_t number, char** shape);
hlo_error* hlo_module_result_shape(const hlo_module* module, char** shape);
void hlo_module_free(hlo_module* module);

// ---- values ----

// An array of a type such as "f32": its elements, row-major, are copied from `data`, which has
// `bytes` bytes. Types of less than 8 bits have a byte for each element.
hlo_error* hlo_value_array(const char* type, const int64_t* dimensions, size_t rank,
                           const void* data, size_t bytes, hlo_value** value);
// Shares what the elements hold; they stay the caller's.
hlo_error* hlo_value_tuple(const hlo_value* const* elements, size_t count, hlo_value** value);
// "f32[2] {1, 2}".
hlo_error* hlo_value_parse(const char* text, hlo_value** value);
hlo_error* hlo_value_print(const hlo_value* value, char** text);
// "f32", "tuple", "token".
const char* hlo_value_type(const hlo_value* value);
// Of arrays; 0 and NULL for others. What pointers point to belongs to the value.
size_t hlo_value_rank(const hlo_value* value);
const int64_t* hlo_value_dimensions(const hlo_value* value);
size_t hlo_value_element_count(const hlo_value* value);
size_t hlo_value_bytes(const hlo_value* value);
const void* hlo_value_data(const hlo_value* value);
// Of tuples; 0 and NULL for others. An element belongs to its tuple.
size_t hlo_value_tuple_size(const hlo_value* value);
const hlo_value* hlo_value_element(const hlo_value* value, size_t number);
void hlo_value_free(hlo_value* value);

// ---- programs ----

// Compiles a copy of the module for a platform. `options` is NULL or a list like that of the
// command line, "threads=2 denormals=keep": threads, denormals, cpu-features, target (of a GPU),
// run-passes, seed.
hlo_error* hlo_compile(const hlo_module* module, const char* platform, const char* options,
                       hlo_program** program);
// Writes what hlo_program_load, and hlo-run, run without compiling; reads it.
hlo_error* hlo_program_save(const hlo_program* program, const char* path);
hlo_error* hlo_program_load(const char* path, const char* options, hlo_program** program);
// The module as it is executed, after the platform's passes.
hlo_error* hlo_program_print(const hlo_program* program, char** text);
// Memory of one run: arguments, results, temporaries, constants.
size_t hlo_program_memory_bytes(const hlo_program* program);
// Runs it: one value for each parameter in, one out.
hlo_error* hlo_program_run(const hlo_program* program, const hlo_value* const* arguments,
                           size_t count, hlo_value** result);
void hlo_program_free(hlo_program* program);

#ifdef __cplusplus
}  // extern "C"
#endif
