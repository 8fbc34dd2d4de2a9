// tools/main.cpp - placeholder until the command table lands.
int main() {
  return 1;
}
