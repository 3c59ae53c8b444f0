/* Runs a module of two f32[4] parameters: run FILE [SAVED]. */
#include <hlo.h>
#include <stdio.h>
#include <string.h>

static int failed(hlo_error* error) {
  if (error == NULL) return 0;
  fprintf(stderr, "%s", hlo_error_message(error));
  return hlo_error_code(error);
}

int main(int argc, char** argv) {
  hlo_module* module = NULL;
  hlo_program* program = NULL;
  hlo_value *x = NULL, *y = NULL, *sum = NULL;
  const int64_t four = 4;
  const float ones[4] = {1, 1, 1, 1};
  int code;
  if (argc < 2) return 2;
  if ((code = failed(hlo_module_read(argv[1], &module))) != 0) return code;
  if ((code = failed(hlo_compile(module, "cpu", "threads=1", &program))) != 0) return code;
  if (argc > 2) {
    if ((code = failed(hlo_program_save(program, argv[2]))) != 0) return code;
    hlo_program_free(program);
    if ((code = failed(hlo_program_load(argv[2], NULL, &program))) != 0) return code;
  }
  if ((code = failed(hlo_value_array("f32", &four, 1, ones, sizeof ones, &x))) != 0) return code;
  if ((code = failed(hlo_value_parse("f32[4] {1, 2, 3, 4}", &y))) != 0) return code;
  const hlo_value* const arguments[2] = {x, y};
  if ((code = failed(hlo_program_run(program, arguments, 2, &sum))) != 0) return code;
  float first;
  memcpy(&first, hlo_value_data(sum), sizeof first);
  printf("%s[%d], first element %g\n", hlo_value_type(sum), (int)hlo_value_dimensions(sum)[0],
         first);
  hlo_value_free(sum);
  hlo_value_free(x);
  hlo_value_free(y);
  hlo_program_free(program);
  hlo_module_free(module);
  return 0;
}
