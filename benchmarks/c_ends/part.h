/* Each statement notes its line in memory that outlives the process, without a call or a decision. */
#ifdef __cplusplus
extern "C" {
#endif
extern char *ran, *nowhere;
void note_in(const char *path);
int library_store(int n);
int library_calls(int (*back)(int), int n);
#ifdef __cplusplus
}
#endif
#define IN_HEADER ran[2000 + __LINE__] = 1
static inline int header_store(int n) {
    IN_HEADER; *nowhere = (char)n;
    IN_HEADER; return n;
}
