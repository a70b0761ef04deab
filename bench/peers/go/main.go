// The sample's projects and images with net/http, database/sql and go-sql-driver.
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
)

type project struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

type image struct {
	ID          string  `json:"_id"`
	Name        string  `json:"name"`
	Access      string  `json:"access"`
	Type        *string `json:"type"`
	Format      *string `json:"format"`
	Owner       *string `json:"owner"`
	Status      *string `json:"status"`
	Size        *int64  `json:"size"`
	CreatedAt   *string `json:"created_at"`
	AccessedAt  *string `json:"accessed_at"`
	AccessCount *int64  `json:"access_count"`
	Checksum    *string `json:"checksum"`
	Others      *string `json:"others"`
}

type api struct {
	db                              *sql.DB
	company, projects, find, access *sql.Stmt
}

func main() {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", os.Getenv("DB_HOST")+":"+os.Getenv("DB_PORT")
	config.User, config.Passwd, config.DBName = os.Getenv("DB_USER"), os.Getenv("DB_PASSWORD"), os.Getenv("DB_NAME")
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(10)
	db.SetMaxIdleConns(10)
	prepare := func(text string) *sql.Stmt {
		statement, err := db.Prepare(text)
		if err != nil {
			log.Fatal(err)
		}
		return statement
	}
	it := &api{
		db:       db,
		company:  prepare("SELECT id, name FROM companies WHERE api = ?"),
		projects: prepare("SELECT id, name FROM projects WHERE company_id = ? ORDER BY id"),
		find: prepare("SELECT _id, name, access, type, format, owner, status, size, created_at, accessed_at, " +
			"access_count, checksum, others FROM images WHERE _id = ?"),
		access: prepare("UPDATE images SET access_count = access_count + 1, accessed_at = CURRENT_TIMESTAMP WHERE _id = ?"),
	}
	http.HandleFunc("/projects", it.listProjects)
	http.HandleFunc("/images/", it.showImage)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}

func (it *api) listProjects(w http.ResponseWriter, r *http.Request) {
	var company project
	err := it.company.QueryRow(r.URL.Query().Get("key")).Scan(&company.ID, &company.Name)
	if err == sql.ErrNoRows {
		answer(w, 401, map[string]interface{}{"status": "Fail", "error_message": "Bad api key"})
		return
	}
	if err != nil {
		fail(w, err)
		return
	}
	rows, err := it.projects.Query(company.ID)
	if err != nil {
		fail(w, err)
		return
	}
	defer rows.Close()
	found := []project{}
	for rows.Next() {
		var one project
		if err := rows.Scan(&one.ID, &one.Name); err != nil {
			fail(w, err)
			return
		}
		found = append(found, one)
	}
	if err := rows.Err(); err != nil {
		fail(w, err)
		return
	}
	answer(w, 200, struct {
		Status string    `json:"status"`
		Data   []project `json:"data"`
	}{"Success", found})
}

func (it *api) showImage(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.URL.Path, "/images/")
	one, err := it.count(id)
	if err == sql.ErrNoRows {
		answer(w, 404, map[string]interface{}{"code": 404, "message": fmt.Sprintf("No image found with id '%s'.", id)})
		return
	}
	if err != nil {
		fail(w, err)
		return
	}
	for _, time := range []*string{one.CreatedAt, one.AccessedAt} {
		if time != nil {
			*time = strings.Replace(*time, " ", "T", 1)
		}
	}
	answer(w, 200, map[string]image{"image": one})
}

// count reads an image as it was before this access, which it counts.
func (it *api) count(id string) (image, error) {
	var one image
	tx, err := it.db.Begin()
	if err != nil {
		return one, err
	}
	// Nothing is left to roll back after a commit.
	defer tx.Rollback()
	err = tx.Stmt(it.find).QueryRow(id).Scan(&one.ID, &one.Name, &one.Access, &one.Type, &one.Format, &one.Owner,
		&one.Status, &one.Size, &one.CreatedAt, &one.AccessedAt, &one.AccessCount, &one.Checksum, &one.Others)
	if err != nil {
		return one, err
	}
	if _, err := tx.Stmt(it.access).Exec(id); err != nil {
		return one, err
	}
	return one, tx.Commit()
}

func answer(w http.ResponseWriter, status int, value interface{}) {
	body, err := json.Marshal(value)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}

func fail(w http.ResponseWriter, err error) {
	log.Print(err)
	http.Error(w, err.Error(), 500)
}
